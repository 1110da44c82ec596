"""A node's files, straight in its state directory, whether it runs or not.

The node can put symbolic links there, and followed on the host they would lead to files of the host: none is ever followed here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Iterator

    from minikube.drivers.values import File

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LeadsElsewhere(Exception):
    """There is a symbolic link on the way: only the node itself knows where it leads."""


def write(root: str, path: str, file: File) -> None:
    """A file that is as it should be is left alone, and keeps its time, by which others know it (Python what it has compiled)."""
    with _Parent(root, path, make=True) as (directory, name):
        if _is(name, directory, file):
            return
        # Secrets must never be readable for a moment: the mode is there before the content is.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = _opened(name, flags, directory, file.mode)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, file.mode)
            stream.write(file.content)


def _is(name: str, directory: int, file: File) -> bool:
    try:
        descriptor = _opened(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, directory)
    except OSError:
        return False
    try:
        about = os.fstat(descriptor)
        alike = stat.S_ISREG(about.st_mode) and (stat.S_IMODE(about.st_mode), about.st_size) == (file.mode, len(file.content))
        return alike and os.read(descriptor, len(file.content) + 1) == file.content
    finally:
        os.close(descriptor)


def read(root: str, path: str) -> dict[str, File]:
    """The file, or every regular file below the directory, by path; nothing where there is nothing."""
    try:
        with _Parent(root, path) as (directory, name):
            return dict(_files(directory, name, "/" + path.strip("/")))
    except (FileNotFoundError, NotADirectoryError):
        return {}


def exists(root: str, path: str) -> bool:
    try:
        with _Parent(root, path) as (directory, name):
            if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                raise LeadsElsewhere(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _files(directory: int, name: str, path: str, *, links: bool = False) -> Iterator[tuple[str, File]]:
    from minikube.drivers.values import File

    try:
        descriptor = _opened(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, directory)
    except LeadsElsewhere:
        if links:
            return
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                yield path, File(stream.read(), stat.S_IMODE(mode))
        elif stat.S_ISDIR(mode):
            for entry in sorted(os.listdir(descriptor)):  # noqa: PTH208 - of a descriptor
                yield from _files(descriptor, entry, f"{path}/{entry}", links=True)
    finally:
        os.close(descriptor)


def _opened(name: str, flags: int, directory: int, mode: int = 0) -> int:
    try:
        return os.open(name, flags, mode, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LeadsElsewhere(name) from None
        raise


class _Parent:
    """The directory a path is in, held open, and the path's last name."""

    def __init__(self, root: str, path: str, *, make: bool = False) -> None:
        self._root, self._make = root, make
        *self._above, self._name = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in (*self._above, self._name):
            raise ValueError(f"a path in a node cannot have '..': {path}")
        self._descriptor = -1

    def __enter__(self) -> tuple[int, str]:
        self._descriptor = os.open(self._root, _STEP)
        for name in self._above:
            try:
                inner = self._step(name)
            except BaseException:
                os.close(self._descriptor)
                raise
            os.close(self._descriptor)
            self._descriptor = inner
        return self._descriptor, self._name

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _step(self, name: str) -> int:
        if self._make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=self._descriptor)
        try:
            return os.open(name, _STEP, dir_fd=self._descriptor)
        except NotADirectoryError:
            if stat.S_ISLNK(os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode):
                raise LeadsElsewhere(name) from None
            raise
