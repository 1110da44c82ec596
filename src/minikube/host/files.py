"""The one door for files that must survive a crash, and small helpers around it."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any


def write_durably(path: str | os.PathLike[str], data: bytes | str, *, mode: int = 0o644) -> None:
    """Replace the file's content so that after a crash it holds either the old or the new bytes, whole.

    A symbolic link is followed (people keep their kubeconfig in a dotfiles repository); an existing file keeps its owner, and what root
    makes in somebody's directory belongs to that person.
    """
    target = Path(os.path.realpath(path))
    content = data.encode() if isinstance(data, str) else data
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            _keep_owner(target, stream.fileno())
            os.fsync(stream.fileno())
        Path(temporary).replace(target)
        sync_directory(target.parent)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise cannot_write(target, error) from error


def read_record(path: Path) -> dict[str, Any]:
    """What was kept in a file as a JSON object; nothing if there is none, or if it is damaged."""
    import json

    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


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
    """Let a file belong to the owner of another; nothing happens unless root does it."""
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _keep_owner(target: Path, descriptor: int) -> None:
    if os.geteuid() != 0:
        return
    try:
        before = target.stat()
    except FileNotFoundError:
        before = target.parent.stat()
        # A directory that anybody may write to says nothing about its files.
        if before.st_mode & stat.S_ISVTX:
            return
    os.fchown(descriptor, before.st_uid, before.st_gid)
