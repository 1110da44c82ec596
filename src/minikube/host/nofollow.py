"""Looking up, opening and removing names below an open directory without ever following a link: the calls beneath untrustedtree.py."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import time
from itertools import islice

from minikube.output.reason import Reason

DEEPEST = 100  # directories below each other; each costs a descriptor
_TRIES = 8  # for a name that somebody keeps exchanging
_BATCH = 4096

LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
CALM = os.O_NONBLOCK | os.O_CLOEXEC  # another process may hold a lease on the file: opening it must not wait
_OPENAT2 = 437  # on every architecture
_NO_XDEV, _NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x1, 0x2, 0x4, 0x8

_libc = ctypes.CDLL(None, use_errno=True)


class LeadsElsewhere(Exception):
    """There is a symbolic link or a mount on the way: only the node itself knows where it leads."""


def kind_of(descriptor: int) -> str:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "special"


def require_directory(descriptor: int, name: str) -> None:
    kind = kind_of(descriptor)
    if kind == "link":
        raise LeadsElsewhere(name)
    if kind != "directory":
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)


def look(directory: int, parts: list[str]) -> int:
    """What is at a relative path, links themselves included if they come last: the kernel sees to it that nothing else is on the way."""
    if _has_openat2():
        how = struct.pack("QQQ", LOOK, 0, _NO_XDEV | _NO_MAGIC_LINKS | _NO_LINKS | _BENEATH)
        found: int = _libc.syscall(_OPENAT2, directory, os.fsencode("/".join(parts)), how, len(how))
        if found >= 0:
            return found
        number = ctypes.get_errno()
        if number in (errno.ELOOP, errno.EXDEV):
            raise LeadsElsewhere("/".join(parts))
        raise OSError(number, os.strerror(number), "/".join(parts))
    descriptor, mount = os.dup(directory), _mount(directory)
    try:
        for number, name in enumerate(parts):
            if number:
                require_directory(descriptor, parts[number - 1])
            inner = os.open(name, LOOK, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
            if _mount(descriptor) != mount:
                raise LeadsElsewhere("/".join(parts))
        return os.dup(descriptor)
    finally:
        os.close(descriptor)


def _mount(descriptor: int) -> str:
    """Which mount it is in: a directory that is mounted in another place of its own file system has the same device."""
    with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as about:  # noqa: PTH123
        return next((line for line in about if line.startswith("mnt_id:")), str(os.fstat(descriptor).st_dev))


_known: list[bool] = []


def _has_openat2() -> bool:
    """From Linux 5.6 on; a filter around this process may refuse it."""
    if not _known:
        how = struct.pack("QQQ", LOOK, 0, _NO_LINKS)
        found = _libc.syscall(_OPENAT2, -100, b"/", how, len(how))
        _known.append(found >= 0)
        if found >= 0:
            os.close(found)
    return _known[0]


def holds(directory: int, name: str, content: bytes, mode: int) -> bool:
    try:
        found = look(directory, [name])
    except FileNotFoundError:
        return False
    try:
        about = os.fstat(found)
        if stat.S_IFMT(about.st_mode) != stat.S_IFREG or (stat.S_IMODE(about.st_mode), about.st_size) != (mode, len(content)):
            return False
        try:
            descriptor = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | CALM)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(len(content) + 1) == content
    finally:
        os.close(found)


def opened_for_writing(directory: int, name: str, path: str, mode: int) -> int:
    """An empty regular file. Its mode is there before the content is: secrets must never be readable for a moment."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
            os.fchmod(descriptor, mode)
            return descriptor
        with contextlib.suppress(FileNotFoundError):
            found = look(directory, [name])
            try:
                descriptor = _emptied(found, name, mode)
            finally:
                os.close(found)
            if descriptor >= 0:
                return descriptor
            os.unlink(name, dir_fd=directory)
    raise Reason("GUEST_STATUS", f"{path} cannot be written: the node keeps putting something else there", advice="See `minikube ssh`.")


def _emptied(found: int, name: str, mode: int) -> int:
    """The file that was looked at, for writing; -1 for what is no file, or held by a lease: it has to make way."""
    kind = kind_of(found)
    if kind == "link":
        raise LeadsElsewhere(name)
    if kind == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if kind == "special":
        return -1
    try:
        descriptor = os.open(f"/proc/self/fd/{found}", os.O_WRONLY | CALM)
    except BlockingIOError:
        return -1
    os.fchmod(descriptor, mode)
    os.truncate(descriptor, 0)
    return descriptor


def enter(directory: int, name: str) -> int:
    found = look(directory, [name])
    try:
        require_directory(found, name)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)


def remove(directory: int, name: str, path: str) -> None:
    try:
        os.unlink(name, dir_fd=directory)
        return
    except IsADirectoryError:
        pass
    try:
        inner = enter(directory, name)
    except LeadsElsewhere:
        raise _mounted(path) from None
    try:
        _empty(inner, inner, path, DEEPEST)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=directory)


def _empty(directory: int, top: int, path: str, deepest: int) -> None:
    """In batches: a directory may have more entries than memory has room for. What is too deep is first moved up to the top."""
    while entries := _batch(directory):
        for name, is_directory in entries:
            if not is_directory:
                os.unlink(name, dir_fd=directory)
            elif not deepest:
                os.rename(name, f".deep-{time.monotonic_ns()}", src_dir_fd=directory, dst_dir_fd=top)
            else:
                try:
                    inner = enter(directory, name)
                except LeadsElsewhere:
                    raise _mounted(f"{path}/{name}") from None
                try:
                    _empty(inner, top, f"{path}/{name}", deepest - 1)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=directory)


def _batch(directory: int) -> list[tuple[str, bool]]:
    with os.scandir(directory) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _BATCH)]


def _mounted(path: str) -> Reason:
    return Reason("HOST_PURGE", f"{path} is not removed: something is mounted there", advice=f"Unmount it (umount {path}), then try again.")
