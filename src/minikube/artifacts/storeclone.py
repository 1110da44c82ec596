"""The quick copy of a prepared containerd store for a new node."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts.prepared import SNAPSHOTS
from minikube.host.nofollow import enter
from minikube.host.untrustedtree import Tree

_SMALL = 1 << 20  # bytes in a file
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _Layers(NamedTuple):
    """Where the layers of a store are, the open directory that gets those which are linked, and its name in the node."""

    source: str
    directory: int
    seen_at: str


def clone_store(prepared: Path, node: Tree, path: str, *, layers: Path, seen_at: str) -> None:
    """Give a node its own store: databases as copies, large image layers as hard links in `layers`, which the node sees at `seen_at`.

    Linked files are one file with those of other clusters, so the node must not be able to write to what it sees at `seen_at`.
    The store is there whole or, after a crash, not at all.
    """
    above, _, name = path.rpartition("/")
    unfinished = f"{name}.unfinished"
    node.remove(f"{above}/{unfinished}")
    beside = Tree(layers.parent)
    beside.remove(layers.name)
    with node.directory(above, make=True) as directory, beside.directory(layers.name, make=True) as linked:
        _clone_directory(str(prepared), directory, unfinished, layers=_Layers(f"{prepared}/{SNAPSHOTS}", linked, seen_at))
        os.rename(unfinished, name, src_dir_fd=directory, dst_dir_fd=directory)


def _clone_directory(source: str, parent: int, name: str, *, layers: _Layers | None, link: bool = False) -> None:
    os.mkdir(name, 0o700, dir_fd=parent)
    directory = enter(parent, name)
    try:
        with os.scandir(source) as entries:
            for entry in entries:
                if layers and entry.name == "fs" and source.startswith(layers.source) and _is_large(entry.path):
                    number = os.path.basename(source)  # noqa: PTH119
                    _clone_directory(entry.path, layers.directory, number, layers=None, link=True)
                    os.symlink(f"{layers.seen_at}/{number}", entry.name, dir_fd=directory)
                elif entry.is_dir(follow_symlinks=False):
                    _clone_directory(entry.path, directory, entry.name, layers=layers, link=link)
                elif not (link and _linked(entry.path, directory, entry.name)):
                    _copy(entry.path, directory, entry.name)
        _keep_attributes(source, directory)
    finally:
        os.close(directory)


def _is_large(layer: str) -> bool:
    """Small ones are copied: a pod in a user namespace needs the pause image on a file system that can map ids, which overlayfs cannot."""
    return any(os.lstat(f"{directory}/{name}").st_size > _SMALL for directory, _, names in os.walk(layer) for name in names)


def _linked(source: str, directory: int, name: str) -> bool:
    """A hard link where it can be: unlike a reflink it also shares memory with the other clusters."""
    with contextlib.suppress(OSError):
        os.link(source, name, dst_dir_fd=directory, follow_symlinks=False)
        return True
    return False


def _copy(source: str, directory: int, name: str) -> None:
    if os.path.islink(source):  # noqa: PTH114
        os.symlink(os.readlink(source), name, dir_fd=directory)  # noqa: PTH115
        about = os.lstat(source)
        if os.geteuid() == 0:
            os.chown(name, about.st_uid, about.st_gid, dir_fd=directory, follow_symlinks=False)
        os.utime(name, ns=(about.st_atime_ns, about.st_mtime_ns), dir_fd=directory, follow_symlinks=False)
        return
    with open(source, "rb") as original, open(os.open(name, _NEW, 0o600, dir_fd=directory), "wb") as copy:  # noqa: PTH123
        if not _reflink(original.fileno(), copy.fileno()):
            shutil.copyfileobj(original, copy, 1 << 20)
        copy.flush()
        _keep_attributes(source, copy.fileno())


def _reflink(original: int, copy: int) -> bool:
    import fcntl

    ficlone = 0x40049409
    try:
        fcntl.ioctl(copy, ficlone, original)
    except OSError:
        return False
    return True


def _keep_attributes(source: str, copy: int) -> None:
    """Mode, times and extended attributes (overlayfs marks opaque directories with one), and as root the owner."""
    about = os.lstat(source)
    if os.geteuid() == 0:
        os.fchown(copy, about.st_uid, about.st_gid)
    for attribute in os.listxattr(source):
        with contextlib.suppress(OSError):
            os.setxattr(copy, attribute, os.getxattr(source, attribute))
    os.fchmod(copy, stat.S_IMODE(about.st_mode))
    os.utime(copy, ns=(about.st_atime_ns, about.st_mtime_ns))
