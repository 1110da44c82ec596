"""Copy one file between this machine and nodes, in any direction, as a stream: size does not matter."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from minikube.cluster import existing
from minikube.drivers.base import Node
from minikube.output.reason import Reason

# In the node: into a new file beside the target, which takes its name once every byte is there.
_WRITE = """\
set -e
target=$1
[ ! -d "$target" ] || target=$target/$2
mkdir -p "$(dirname "$target")"
part=$(mktemp "$(dirname "$target")/.minikube-cp.XXXXXX")
trap 'rm -f "$part"' EXIT
trap 'exit 1' HUP INT TERM
cat > "$part"
[ "$(stat -c %s "$part")" -ge "$3" ] || { echo "the file ended too early" >&2; exit 1; }
chmod "$4" "$part"
mv -fT "$part" "$target"
"""

_STAT = re.compile(rb"([0-7]{1,5}) ([0-9]{1,18}) ([a-z ]{1,60})\n")
PLAIN = 0o777  # no file becomes setuid, setgid or sticky because of a copy
IDLE = 60.0  # seconds without a byte from a node
ENDED_BY_PIPE = 141


class Place(NamedTuple):
    """One end of a copy; without a node it is on this machine."""

    node: str
    path: str


class Source(NamedTuple):
    """An open file: where its bytes come from, how many there are at least, and its mode."""

    descriptor: int
    size: int
    mode: int


def parse(text: str) -> Place:
    """`node:/path` or a path of this machine; a colon further on, or before a relative path, belongs to the name."""
    node, colon, path = text.partition(":")
    return Place(node, path) if colon and node and "/" not in node and path.startswith("/") else Place("", text)


def copy(profile: str, source_text: str, target_text: str) -> None:
    source, target = parse(source_text), parse(target_text)
    _require(source, target)
    if not source.node and not target.node:
        target = Place(profile, target.path)
    for place in (source, target):
        existing.require_node(profile, place.node)
    node = existing.running_node(profile)
    name = os.path.basename(source.path)  # noqa: PTH119 - Path drops the slash that makes a name empty
    with _from_node(node, source.path) if source.node else _from_here(source.path) as opened:
        if target.node:
            _into_node(node, opened, target.path, name, source.path)
        else:
            _into_file(opened, target.path, name)


def _require(source: Place, target: Place) -> None:
    if not source.path:
        raise Reason("MK_USAGE", "Source can not be empty")
    if not target.path:
        raise Reason("MK_USAGE", "Target can not be empty")
    if not source.node and not target.node and not target.path.startswith("/"):
        raise Reason(
            "MK_USAGE",
            "Target <remote file path> must be an absolute Path. Relative Path is not allowed "
            '(example: "minikube:/home/docker/copied.txt")',
        )


@contextmanager
def _from_here(path: str) -> Iterator[Source]:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise Reason("HOST_PATH_MISSING", f"Cannot find {path} for copy", advice="Check the path: it is one of this machine.") from None
    except OSError as error:
        raise Reason("HOST_PATH_STAT", f"{path} cannot be read: {error.strerror}") from None
    try:
        facts = os.fstat(descriptor)
        if stat.S_ISDIR(facts.st_mode):
            raise _is_directory(path)
        yield Source(descriptor, facts.st_size, facts.st_mode & PLAIN)
    finally:
        os.close(descriptor)


@contextmanager
def _from_node(node: Node, path: str) -> Iterator[Source]:
    """The bytes come through a pipe that another thread fills; its failure ends the copy."""
    found = node.run(["/usr/bin/stat", "-L", "-c", "%a %s %F", "--", path], timeout=30)
    if found.code:
        why = found.stderr.decode(errors="replace").strip().rpartition(": ")[2] or "it cannot be read"
        raise Reason("GUEST_PATH_MISSING", f"getting file from {node.name} node: {path}: {why}", exit_code=1)
    said = _STAT.fullmatch(found.stdout)
    if said is None:
        raise _failed(path, "the node does not say what it is")
    mode, size, kind = said[1], int(said[2]), said[3].decode()
    if kind == "directory":
        raise _is_directory(path)
    result: list[tuple[int, bytes]] = []
    ours, theirs = os.pipe()

    def fill() -> None:
        try:
            result.append(node.control.transfer(["/usr/bin/cat", "--", path], sink=theirs, idle=IDLE))
        except BrokenPipeError:
            result.append((ENDED_BY_PIPE, b""))
        except (OSError, Reason) as error:
            result.append((1, str(error).encode()))
        finally:
            os.close(theirs)

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    try:
        yield Source(ours, size if kind.startswith("regular") else 0, int(mode, 8) & PLAIN)
    finally:
        os.close(ours)
    filling.join()
    code, errors = result[0]
    if code and code != ENDED_BY_PIPE:  # a file that has grown: what it had is here
        raise _failed(path, errors.decode(errors="replace"))


def _into_node(node: Node, opened: Source, target: str, name: str, source: str) -> None:
    argv = ["/bin/sh", "-c", _WRITE, "sh", target, name, str(opened.size), f"{opened.mode:o}"]
    try:
        code, errors = node.control.transfer(argv, source=opened.descriptor)
    except OSError as error:
        raise _failed(source, error.strerror or str(error)) from error
    if code:
        raise _failed(source, errors.decode(errors="replace"))


def _into_file(opened: Source, target: str, name: str) -> None:
    """A link that the user named is followed; one that happens to be in the directory under that name is replaced."""
    path = Path(target)
    try:
        if target.endswith("/") or path.is_dir():
            path = path / name
            if path.exists() and not path.is_file() and not path.is_symlink():
                raise _failed(name, f"{path} is there already, and is no file")
        elif path.exists() and not path.is_file():  # a terminal, a pipe, /dev/null
            with path.open("wb") as stream:
                _drain(opened, stream.fileno())
            return
        else:
            path = path.resolve()
        descriptor, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            if _drain(opened, descriptor) < opened.size:
                raise _failed(name, "the file ended too early")
            os.fchmod(descriptor, opened.mode & PLAIN)
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _failed(name, f"{path}: {error.strerror}") from error


def _drain(opened: Source, sink: int) -> int:
    """All of it; of a file that says its size, no more than that: it may grow while it is copied, or never end."""
    total = 0
    while data := os.read(opened.descriptor, min(1 << 20, opened.size - total) if opened.size else 1 << 20):
        total += len(data)
        while data:
            data = data[os.write(sink, data) :]
        if opened.size and total >= opened.size:
            break
    return total


def _is_directory(path: str) -> Reason:
    return Reason(
        "MK_USAGE",
        f"{path} is a directory; minikube cp copies single files",
        advice="For a whole directory: tar -C DIRECTORY -c . | minikube ssh -- tar -C DIRECTORY -x",
    )


def _failed(source: str, why: str) -> Reason:
    return Reason("MK_COMMAND_RUNNER", f"Fail to copy file {source}: {why.strip() or 'the node gave no reason'}")
