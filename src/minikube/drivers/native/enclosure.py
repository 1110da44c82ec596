"""A program, run as root: give the node's root directory other owners for whom it is to be, then become `runc`.

The node's root is not the host's: to it, files of the host's root would be strangers', and directories above them (`/root`) locked. So
in a mount namespace that ends with `runc create`, clones of the node's root and of what its `/usr` is made of are mounted where everyone
may pass, with every owner shifted to the node's. On disk nothing changes.

    enclosure.py '{"first": …, "count": …, "place": …, "root": …, "lowers": […], "writable": […]}' [runc create …]

Without a command it only tries, and says why it cannot be done. It stands on nothing but Python's own library: any Python runs it.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any

NEW_MOUNTS, NEW_USERS = 0x20000, 0x10000000
READ_ONLY, RECURSIVE, PRIVATE = 0x1, 0x4000, 0x40000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same numbers on every architecture
HERE, EMPTY_PATH, WHOLE_TREE = -100, 0x1000, 0x8000
CLONE, FROM_EMPTY_PATH, IDMAP = 0x1, 0x4, 0x100000

_libc = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    wish, command = json.loads(words[0]), words[1:]
    try:
        _prepare(wish)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    if command:
        os.execv(command[0], command)  # noqa: S606 - the one process that this program exists for


def _prepare(wish: dict[str, Any]) -> None:
    place = wish["place"]
    _done(_libc.unshare(NEW_MOUNTS), "a mount namespace of its own")
    _mount("none", "/", "", RECURSIVE | PRIVATE)
    _mount("minikube", place, "tmpfs", data="mode=755")
    owners = _owners(wish["first"], wish["count"])
    root = f"{place}/root"
    _shifted(wish["root"], owners, root)
    lowers = [f"{place}/{number}" for number in range(len(wish["lowers"]))]
    for source, target in zip(wish["lowers"], lowers, strict=True):
        _shifted(source, owners, target)
    _mount("node", f"{root}/usr", "overlay", READ_ONLY, f"lowerdir={':'.join(lowers)}")
    for source in wish["writable"]:  # runc does these itself
        os.close(_clone(source, owners))
    os.close(owners)


def _owners(first: int, count: int) -> int:
    """A user namespace with these owners, as the file that mounts are told them by."""
    made, known = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(made[1], b"-" if _libc.unshare(NEW_USERS) else b"+")
        os.read(known[0], 1)
        os._exit(0)
    try:
        if os.read(made[0], 1) != b"+":
            raise OSError(0, "the kernel, or its setting user.max_user_namespaces, does not allow it", "a user namespace")
        for kind in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{kind}", "w") as table:  # noqa: PTH123
                table.write(f"0 {first} {count}")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.write(known[1], b".")
        os.waitpid(child, 0)


def _shifted(source: str, owners: int, target: str) -> None:
    tree = _clone(source, owners)
    os.mkdir(target)  # noqa: PTH102
    _done(_libc.syscall(MOVE_MOUNT, tree, b"", HERE, os.fsencode(target), FROM_EMPTY_PATH), target)
    os.close(tree)


def _clone(source: str, owners: int) -> int:
    """A mount of a directory whose files belong to others, not yet anywhere."""
    tree = _done(_libc.syscall(OPEN_TREE, HERE, os.fsencode(source), CLONE | os.O_CLOEXEC | WHOLE_TREE), source)
    change = struct.pack("QQQQ", IDMAP, 0, 0, owners)
    _done(_libc.syscall(MOUNT_SETATTR, tree, b"", EMPTY_PATH | WHOLE_TREE, change, len(change)), f"other owners in {source}")
    return tree


def _mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    code = _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _done(code, f"{kind or 'mounts'} on {target}")


def _done(code: int, what: str) -> int:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
