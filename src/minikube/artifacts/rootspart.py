"""Root's part of a store: what root executes and builds from must be root's, also in the store of the person that it works for."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from minikube.host import credentials
from minikube.host.files import make_directory
from minikube.output.reason import Reason
from minikube.profiles import paths

_DIRECTORIES = ("entries", "building", "damaged", "locks", "logs", "go", "downloads", "versions", "wrappers")
# Kept from versions that gave them to the person: version records and what was downloaded, both checked when they are used.
_KEPT = ("entries", "versions", "wrappers", "downloads")
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def making() -> Iterator[None]:
    """Root's own work in the store: nothing in there that root uses is somebody else's, or a link."""
    if credentials.person():
        with credentials.as_person():
            root = _open_store()
        try:
            with credentials.as_root():
                for name in _DIRECTORIES:
                    _ensure(root, name)
        finally:
            os.close(root)
    with credentials.as_root():
        yield


def is_believed(entry: os.PathLike[str]) -> bool:
    """Whether this process may use an entry: root, working for a person, does not use what that person could have written."""
    if not credentials.person():
        return True
    try:
        about = os.lstat(entry)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == 0 and not about.st_mode & 0o022


def _open_store() -> int:
    """The person's, or one that only root can write to."""
    place = paths.store()
    try:
        make_directory(place)
        descriptor = os.open(place, _STEP & ~os.O_NOFOLLOW)
    except OSError as error:
        raise Reason(
            "HOST_HOME_PERMISSION",
            f"the store {place} cannot be used: {error.strerror}",
            advice="Set MINIKUBE_STORE to a directory that you can write to.",
        ) from error
    about = os.fstat(descriptor)
    if about.st_uid != credentials.person() and (about.st_uid != 0 or about.st_mode & 0o022):
        os.close(descriptor)
        raise Reason(
            "HOST_HOME_PERMISSION",
            f"the store {place} belongs to user {about.st_uid}, and root executes programs from it",
            advice="Set MINIKUBE_STORE to a directory of your own.",
        )
    return descriptor


def _ensure(root: int, name: str) -> None:
    try:
        about = os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        about = None
    if about is not None:
        if stat.S_ISDIR(about.st_mode) and about.st_uid == 0 and not about.st_mode & 0o022:
            return
        if not (stat.S_ISDIR(about.st_mode) or stat.S_ISLNK(about.st_mode)) or about.st_uid not in (0, credentials.person()):
            raise Reason(
                "HOST_HOME_PERMISSION",
                f"{paths.store()}/{name} is not root's, and root executes programs from it",
                advice=f"Remove it: rm -r {paths.store()}/{name}",
            )
        if stat.S_ISDIR(about.st_mode) and name in _KEPT:
            _take_over(root, name, whole=name != "entries")
            return
        _remove(root, name)
    with contextlib.suppress(FileExistsError, PermissionError, OSError):  # a read-only store has what it has
        os.mkdir(name, 0o755, dir_fd=root)


def _take_over(directory: int, name: str, *, whole: bool) -> None:
    """Let a directory be root's, `whole` with the files in it; what is neither file nor directory, or has other names, is removed."""
    descriptor = os.open(name, _STEP, dir_fd=directory)
    try:
        os.fchown(descriptor, 0, 0)
        os.fchmod(descriptor, 0o755)
        for entry in os.listdir(descriptor) if whole else ():  # noqa: PTH208 - of a descriptor
            about = os.stat(entry, dir_fd=descriptor, follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                _take_over(descriptor, entry, whole=True)
            elif not _taken(descriptor, entry):
                os.unlink(entry, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _taken(directory: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            about = os.fstat(descriptor)
            if stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_uid in (0, credentials.person()):
                os.fchown(descriptor, 0, 0)
                os.fchmod(descriptor, 0o644)
                return True
        finally:
            os.close(descriptor)
    return False


def _remove(root: int, name: str) -> None:
    """With the person's rights: it is the person's, whatever it leads to."""
    import shutil

    with credentials.as_person():
        try:
            os.unlink(name, dir_fd=root)
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=root)
