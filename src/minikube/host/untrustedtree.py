"""The one door into a directory tree that a stranger writes to: the files that a node keeps on this host.

The node's root can put links, device files, pipes, endless files and deep trees there, and exchange one for another between two calls. So
every name is looked up below an open directory, no link is followed, nothing but regular files and directories is opened, and everything
that is read has a limit. tests/host/test_one_door.py fails when other code reaches into a node's files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from itertools import islice

from minikube.host.nofollow import (
    CALM,
    DEEPEST,
    LOOK,
    LeadsElsewhere,
    enter,
    holds,
    kind_of,
    look,
    opened_for_writing,
    remove,
    require_directory,
)
from minikube.output.reason import Reason

MOST_BYTES = 64 << 20  # of all files that one call reads
MOST_FILES = 20_000
SECONDS = 60.0

PLAIN = 0o777  # the bits of a mode that may be given to a file: neither setuid, setgid nor sticky


class TooMuch(Reason):
    """The node has put more there than a host should read."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            "GUEST_STATUS", f"{path} of the node is not read: {what}", advice="See `minikube ssh`: it was put there in the node."
        )


class Tree:
    """Paths are those in the node (`/etc/hosts`); `root` is where its `/` is on this host, and who writes to its parent is trusted."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)

    def close_to_users(self) -> None:
        """Let nobody but root enter, if root asks for it; nothing where there is no tree."""
        with contextlib.suppress(FileNotFoundError), self._opened_directory([]) as descriptor:
            if os.geteuid() == 0:
                os.chown(f"/proc/self/fd/{descriptor}", 0, 0)
            os.chmod(f"/proc/self/fd/{descriptor}", 0o700)  # noqa: PTH101

    def kind(self, path: str) -> str:
        """`file`, `directory`, `link`, `special`, or nothing where nothing is."""
        try:
            with self._looked_up(path) as found:
                return kind_of(found)
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def read(self, path: str, *, limit: int = MOST_BYTES) -> dict[str, tuple[bytes, int]]:
        """The file, or every regular file below the directory: path to content and mode; nothing where there is nothing."""
        reading = _Reading(limit)
        try:
            with self._looked_up(path) as found:
                if kind_of(found) == "link":
                    raise LeadsElsewhere(path)
                reading.take(found, "/" + path.strip("/"))
        except (FileNotFoundError, NotADirectoryError):
            pass
        return reading.files

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """A file that is as it should be is left alone, and keeps its time, by which others know it (Python what it has compiled).

        An existing one keeps its inode, since somebody may have it mounted; what is neither file, directory nor link is replaced.
        """
        with self._parent(path, make=True) as (directory, name):
            if holds(directory, name, content, mode & PLAIN):
                return
            descriptor = opened_for_writing(directory, name, path, mode & PLAIN)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)

    def clear_way(self, path: str) -> None:
        """Remove links from a path: for a file that is ours, at whatever place the node would rather have it."""
        parts = _parts(path)
        for number in range(1, len(parts) + 1):
            part = "/".join(parts[:number])
            if self.kind(part) == "link":
                self.remove(part)

    def make_directory(self, path: str, mode: int | None = None) -> None:
        """And those above it. `mode` is set, also of one that exists."""
        with self.directory(path, make=True) as descriptor:
            if mode is not None:
                os.chmod(f"/proc/self/fd/{descriptor}", mode & (PLAIN | stat.S_ISVTX))  # noqa: PTH101

    @contextlib.contextmanager
    def directory(self, path: str, *, make: bool = False) -> Iterator[int]:
        """A directory, held open: what is done below its descriptor is done there, whatever its name becomes."""
        with self._opened_directory(_parts(path), make=make) as descriptor:
            listed = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield listed
        finally:
            os.close(listed)

    def names(self, path: str) -> list[str]:
        """What is in a directory; nothing where there is none."""
        try:
            with self.directory(path) as descriptor, os.scandir(descriptor) as entries:
                return [entry.name for entry in islice(entries, MOST_FILES)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def directories(self, path: str) -> Iterator[int]:
        """Every directory below one, itself included, held open until the next is asked for; those too deep are left out."""
        try:
            with self.directory(path) as descriptor:
                yield from _directories(descriptor, DEEPEST)
        except (FileNotFoundError, NotADirectoryError):
            return

    def remove(self, path: str) -> None:
        """Whatever is there: a file, a link itself, or a directory with all below it. What is mounted there is not entered."""
        try:
            with self._parent(path) as (directory, name):
                remove(directory, name, f"{self.root}/{path.strip('/')}")
        except (FileNotFoundError, NotADirectoryError):
            return

    def rename(self, path: str, name: str) -> None:
        """Within its directory."""
        with self._parent(path) as (directory, before):
            os.rename(before, name, src_dir_fd=directory, dst_dir_fd=directory)

    def copy_in(self, source: str, path: str) -> None:
        """Copy a directory of ours over what is there. Links and other things that the node has in the way of a name stay as they are."""
        with self.directory(path, make=True) as descriptor:
            _copy_directory(source, descriptor)

    def link_socket(self, path: str, directory: str, name: str) -> None:
        """Give that very socket a name outside, whatever the node puts in its place later. FileNotFoundError if it is none."""
        with self._looked_up(path) as found:
            if not stat.S_ISSOCK(os.fstat(found).st_mode):
                raise FileNotFoundError(errno.ENOENT, "there is no socket", path)
            target = os.open(directory, LOOK | os.O_DIRECTORY)
            try:
                os.link(f"/proc/self/fd/{found}", name, dst_dir_fd=target, follow_symlinks=True)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                above = os.path.dirname(self.root)  # noqa: PTH120
                raise Reason(
                    "GUEST_PROVISION",
                    f"the node's socket cannot get a name in {directory}: {self.root} or a directory in it is a mount of its own",
                    advice=f"Unmount {self.root}. To keep a machine on another disk, mount the disk at {above} instead.",
                ) from None
            finally:
                os.close(target)

    @contextlib.contextmanager
    def _looked_up(self, path: str) -> Iterator[int]:
        """What has this name, open for nothing but to be looked at."""
        parts = _parts(path)
        if len(parts) == 1:
            with self._parent(path) as (directory, name):
                descriptor = os.open(name, LOOK, dir_fd=directory)
        else:
            with self._opened_directory(parts[:1]) as top:
                descriptor = look(top, parts[1:])
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The directory a path is in, held open, and the path's last name."""
        *above, name = _parts(path)
        with self._opened_directory(above, make=make) as descriptor:
            yield descriptor, name

    @contextlib.contextmanager
    def _opened_directory(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        """The node cannot exchange the first one: a disk of the host may be mounted there. Further down no mount is entered."""
        if make:
            os.makedirs(self.root, mode=0o700, exist_ok=True)  # noqa: PTH103
        descriptor = os.open(self.root, LOOK | os.O_DIRECTORY)
        try:
            for number, name in enumerate(parts):
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=descriptor)
                inner = look(descriptor, [name]) if number else os.open(name, LOOK, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
                require_directory(descriptor, name)
            yield descriptor
        finally:
            os.close(descriptor)


class _Reading:
    """What one call has read so far, and what it may."""

    def __init__(self, limit: int) -> None:
        self.files: dict[str, tuple[bytes, int]] = {}
        self._left, self._end = limit, time.monotonic() + SECONDS

    def take(self, found: int, path: str, depth: int = 0) -> None:
        kind, about = kind_of(found), os.fstat(found)
        if kind == "file":
            self.files[path] = (self._content(found, path), about.st_mode & PLAIN)
        elif kind == "directory":
            if depth >= DEEPEST:
                raise TooMuch(path, f"it is {DEEPEST} directories deep")
            listed = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                with os.scandir(listed) as entries:
                    names = sorted(entry.name for entry in islice(entries, MOST_FILES + 1))
                for name in names:
                    self._entry(listed, name, f"{path}/{name}", depth + 1)
            finally:
                os.close(listed)

    def _entry(self, directory: int, name: str, path: str, depth: int) -> None:
        if len(self.files) >= MOST_FILES or time.monotonic() > self._end:
            raise TooMuch(path, "there are too many files beside it")
        try:
            found = look(directory, [name])
        except (FileNotFoundError, LeadsElsewhere):
            return
        try:
            self.take(found, path, depth)
        finally:
            os.close(found)

    def _content(self, found: int, path: str) -> bytes:
        try:
            descriptor = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | CALM)
        except BlockingIOError:
            raise TooMuch(path, "a process of the node holds it") from None
        with os.fdopen(descriptor, "rb") as stream:
            content = stream.read(self._left + 1)
        if len(content) > self._left:
            raise TooMuch(path, "it is too large")
        self._left -= len(content)
        return content


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in path or not parts:
        raise ValueError(f"not a path in a node: {path!r}")
    return parts


def _directories(directory: int, deepest: int) -> Iterator[int]:
    yield directory
    if not deepest:
        return
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        with contextlib.suppress(OSError, LeadsElsewhere):
            inner = enter(directory, name)
            try:
                yield from _directories(inner, deepest - 1)
            finally:
                os.close(inner)


def _copy_directory(source: str, directory: int) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            if entry.is_symlink():
                with contextlib.suppress(FileExistsError):
                    os.symlink(os.readlink(entry.path), entry.name, dir_fd=directory)  # noqa: PTH115
            elif entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(entry.name, 0o700, dir_fd=directory)
                with contextlib.suppress(LeadsElsewhere, NotADirectoryError):
                    inner = enter(directory, entry.name)
                    try:
                        _copy_directory(entry.path, inner)
                        os.fchmod(inner, about.st_mode & (PLAIN | stat.S_ISVTX))
                    finally:
                        os.close(inner)
            elif entry.is_file(follow_symlinks=False):
                _copy_file(entry.path, about, directory, entry.name)


def _copy_file(source: str, about: os.stat_result, directory: int, name: str) -> None:
    with open(source, "rb") as original:  # noqa: PTH123
        content = original.read()
    with contextlib.suppress(LeadsElsewhere, IsADirectoryError):
        descriptor = opened_for_writing(directory, name, name, about.st_mode & PLAIN)
        with os.fdopen(descriptor, "wb") as copy:
            copy.write(content)
            copy.flush()
            os.utime(descriptor, ns=(about.st_atime_ns, about.st_mtime_ns))
