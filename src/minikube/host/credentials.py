"""Whose rights count when root works for a person: that person's, unless something is root's own work.

Linux keeps the user and group that count for files per thread (setfsuid(2)); with a person's, the kernel takes the capabilities away that
let root pass over permissions. So no link and no swapped directory leads a thread to what the person could not reach, and what it makes
belongs to the person. A new thread has the rights of the one that starts it. Processes are started as the person, too (process.py).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    S = TypeVar("S")

_ASK = -1  # is nobody's number: the call changes nothing, and tells what holds

_uid, _gid = 0, 0  # of the person that this process works for; 0: for nobody but itself
_groups: list[int] = []


def work_for(uid: int, gid: int, groups: list[int]) -> None:
    """From now on this thread, and every one that it starts, has this person's rights. Root calls this before there are other threads."""
    global _uid, _gid, _groups
    # The whole process has them: to root, who may pass over permissions, groups make no difference.
    os.setgroups(groups)
    _uid, _gid, _groups = uid, gid, groups
    _switch(uid, gid)


def person() -> int:
    """The number of the user that root works for, 0 if it does not."""
    return _uid


def group() -> int:
    return _gid


def drop() -> None:
    """Become the person altogether, with no way back."""
    global _uid, _gid, _groups
    uid, gid, _uid, _gid, _groups = _uid, _gid, 0, 0, []
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def as_root() -> _As:
    """For a `with` block in this thread: root's own work, on files that are root's."""
    return _As(0, 0)


def as_person() -> _As:
    """For a `with` block in this thread, the opposite."""
    return _As(_uid, _gid)


def roots_work(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that is root's own work from its beginning to its end."""

    def doing(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with as_root():
            return method(self, *args, **named)

    doing.__doc__, doing.__name__ = method.__doc__, method.__name__
    return doing


def of_child() -> dict[str, Any]:
    """What subprocess has to be told so that a new process has no more rights than this thread has for files."""
    return {"user": _uid, "group": _gid, "extra_groups": _groups} if acts_for_person() else {}


def acts_for_person() -> bool:
    """Whether this thread has a person's rights now, and could have root's."""
    return _uid != 0 and _current() != 0


class _As:
    __slots__ = ("_before", "_wanted")

    def __init__(self, uid: int, gid: int) -> None:
        self._wanted = uid, gid

    def __enter__(self) -> None:
        self._before = (_uid, _gid) if acts_for_person() else (0, 0)
        if _uid and self._before != self._wanted:
            _switch(*self._wanted)

    def __exit__(self, *_: object) -> None:
        if _uid and self._before != self._wanted:
            _switch(*self._before)


def _current() -> int:
    return int(_kernel().setfsuid(_ASK))


def _switch(uid: int, gid: int) -> None:
    """In this order: the group can be chosen freely only with root's rights."""
    kernel = _kernel()
    kernel.setfsuid(0)
    kernel.setfsgid(gid)
    kernel.setfsuid(uid)
    if (int(kernel.setfsuid(_ASK)), int(kernel.setfsgid(_ASK))) != (uid, gid):  # these calls do not tell when they fail
        raise PermissionError(1, f"the kernel does not give the rights of user {uid}")


_loaded: list[Any] = []


def _kernel() -> Any:
    if not _loaded:
        import ctypes

        _loaded.append(ctypes.CDLL(None))
    return _loaded[0]
