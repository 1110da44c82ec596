"""The one door for files that must survive a crash, and small helpers around it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from minikube.host import credentials
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any


def write_durably(path: str | os.PathLike[str], data: bytes | str, *, mode: int = 0o644) -> None:
    """Replace the file's content so that after a crash it holds either the old or the new bytes, whole.

    A symbolic link is followed (people keep their kubeconfig in a dotfiles repository); an existing file keeps its owner, and what root
    makes in somebody's directory belongs to that person. The directory is opened once, so a swapped one changes nothing.
    """
    # No other path is resolved: `/proc/<process>/fd/<number>` leads to one directory, and the path of that directory anywhere.
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)  # noqa: PTH114
    try:
        directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _replace(directory, target.name, data.encode() if isinstance(data, str) else data, mode)
        finally:
            os.close(directory)
    except OSError as error:
        raise cannot_write(target, error) from error


def read_record(path: Path) -> dict[str, Any]:
    """What was kept in a file as a JSON object; nothing if there is none, or if it is damaged."""
    import json

    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_bounded(name: str, *, directory: int | None = None, limit: int = 1 << 20) -> bytes:
    """The content of a regular file that somebody else may have put there: no link, no pipe to wait at, nothing without an end."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", name)
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    return content


def sync_directory(directory: Path) -> None:
    """Make renames and new names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cannot_write(path: Path, error: OSError) -> Reason:
    """The reason for a failed write, with advice that fits the cause."""
    what = f"{path} cannot be written: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Reason("RSRC_INSUFFICIENT_STORAGE", what, advice="Free some space on that file system, then run the command again.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Reason(
            "HOST_HOME_PERMISSION", what, advice=f"Make {path.parent} writable for you, or set MINIKUBE_HOME to another directory."
        )
    return Reason("HOST_HOME_MKDIR", what)


def make_directory(path: Path, *, mode: int = 0o777) -> None:
    """The directory and those above it; what root makes in somebody's directory belongs to that person."""
    missing = [path, *path.parents][: next(number for number, place in enumerate((path, *path.parents)) if place.exists())]
    path.mkdir(parents=True, exist_ok=True, mode=mode)
    for place in reversed(missing):
        give(place, like=place.parent)


def give(path: Path, *, like: Path) -> None:
    """Let a file belong to the owner of another; nothing happens unless root does it, with root's rights."""
    if os.geteuid() == 0 and not credentials.acts_for_person():
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _replace(directory: int, name: str, content: bytes, mode: int) -> None:
    temporary = f".{name}.{os.urandom(8).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(descriptor, mode)
            _keep_owner(directory, name, descriptor)
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        raise
    os.fsync(directory)


def _keep_owner(directory: int, name: str, descriptor: int) -> None:
    if os.geteuid() != 0 or credentials.acts_for_person():
        return
    try:
        before = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        before = os.fstat(directory)
        # A directory that anybody may write to says nothing about its files.
        if before.st_mode & stat.S_ISVTX:
            return
    os.fchown(descriptor, before.st_uid, before.st_gid)
