"""Files that their owner alone may read: logs and the like, which may quote what else is secret."""

from __future__ import annotations

import errno
import os
import stat


def open_private(directory: str, name: str, flags: int = os.O_WRONLY | os.O_APPEND | os.O_CREAT, *, fresh: bool = False) -> int:
    """A descriptor of the file. Directory and file are made 0700 and 0600, also those that were there with more rights.

    A link in the file's place is never followed, nor one in the directory's place by root, who may be working in somebody else's home.
    `fresh`: what has that name goes first, whatever it is.
    """
    os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib costs more than all the rest
    follow = os.O_NOFOLLOW if os.geteuid() == 0 else 0
    place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow)
    try:
        _tighten(place, 0o700)
        if fresh:
            try:  # noqa: SIM105 - contextlib costs more than all the rest
                os.unlink(name, dir_fd=place)
            except FileNotFoundError:
                pass
        # O_NONBLOCK: a pipe in its place keeps nobody waiting.
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=place)
    finally:
        os.close(place)
    try:
        _tighten(descriptor, 0o600)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _tighten(descriptor: int, mode: int) -> None:
    found = os.fstat(descriptor)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.EINVAL, "is not a regular file")
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and os.geteuid() == 0:
        raise OSError(errno.EMLINK, "has another name, which may be somebody else's")
    if stat.S_IMODE(found.st_mode) & ~mode and os.geteuid() in (0, found.st_uid):
        os.fchmod(descriptor, mode)
