"""File watches: the kernel lets every user have so many inotify instances, and clusters are all root's."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from minikube.host import shiftedids

SETTING = "fs.inotify.max_user_instances"
INSTANCES = 22  # what the components of one cluster take; many systems allow a user 128
COMFORTABLE = 1024


def limit(root: Path = Path("/")) -> int:
    try:
        return int((root / "proc/sys/fs/inotify/max_user_instances").read_text())
    except (OSError, ValueError):
        return 8192


def is_close(root: Path = Path("/")) -> bool:
    """Whether it is worth counting, which means looking at every open file of the machine."""
    clusters = len(list((root / "sys/class/net").glob("mk-????????")))
    return limit(root) < (clusters + 3) * INSTANCES


def left(root: Path = Path("/"), *, user: int = 0) -> int:
    """How many instances the processes of a user may still make."""
    used = 0
    for process in (root / "proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended since
            owner = process.stat().st_uid
            # What is in a user namespace counts for whom that belongs to as well.
            if owner == user or (user == 0 and owner in shiftedids.ALL):
                used += sum(_leads_to(file) == "anon_inode:inotify" for file in os.scandir(process / "fd"))
    return max(limit(root) - used, 0)


def can_raise(root: Path = Path("/")) -> bool:
    return os.access(root / "proc/sys/fs/inotify/max_user_instances", os.W_OK)


def raised() -> tuple[str, str] | None:
    """The limit and what it should be, if the next cluster and a bit more do not fit any more."""
    if not is_close() or left() >= 2 * INSTANCES or not can_raise():
        return None
    before = limit()
    return str(before), str(max(COMFORTABLE, 2 * before))


def _leads_to(file: os.DirEntry[str]) -> str:
    try:
        return os.readlink(file)  # noqa: PTH115 - there are thousands of them
    except OSError:
        return ""
