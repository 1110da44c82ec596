"""The seal of a store entry: what every file must be, and a cheap way to see that nothing has changed since."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minikube.host import credentials
from minikube.host.files import write_durably

MANIFEST = "seal"
"""Its own digest in the first line, JSON after it."""
CONTENT = "content"


class Damage(NamedTuple):
    """The first thing found wrong with an entry."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


def seal(entry: Path, *, name: str, identity: str, known: Mapping[str, str] | None = None) -> None:
    """Record every file below `entry/content`. The manifest is written last: without it there is no entry.

    Whoever has hashed files while writing them says so in `known`.
    """
    known = known or {}
    files = {
        path: [kind, mode, known.get(path) or _content(f"{entry}/{CONTENT}/{path}", kind), *fingerprint]
        for path, kind, mode, fingerprint in _survey(entry / CONTENT)
    }
    _write(entry, {"name": name, "identity": identity, "files": files})


def check(entry: Path, *, full: bool = False) -> Damage | None:
    """What is wrong with a sealed entry. Files whose size, time and inode are as sealed are not read again unless `full`.

    Hard links into nodes change ctime, so it does not count; a copied store has other inodes and times: it is read once and sealed anew.
    """
    manifest = _read(entry)
    if manifest is None:
        return Damage(MANIFEST, "is missing or not readable")
    expected: dict[str, list[Any]] = manifest["files"]
    seen = 0
    moved = False
    for path, kind, mode, fingerprint in _survey(entry / CONTENT):
        record = expected.get(path)
        if record is None:
            return Damage(path, "does not belong there")
        seen += 1
        if record[:2] != [kind, mode]:
            return Damage(path, "has other permissions or another type than it was made with")
        same = record[3:] == fingerprint
        if not same or full or kind == "link":
            if _content(f"{entry}/{CONTENT}/{path}", kind) != record[2]:
                return Damage(path, "has another content than it was made with")
            if not same:
                record[3:] = fingerprint
                moved = True
    if seen != len(expected):
        present = {path for path, *_ in _survey(entry / CONTENT)}
        return Damage(min(set(expected) - present, default=CONTENT), "is missing")
    if moved and os.access(entry, os.W_OK) and not credentials.acts_for_person():
        _write(entry, manifest)
    return None


def records(entry: Path) -> dict[str, tuple[str, str]]:
    """What the seal says of every path: its kind, and a file's digest or a link's target. Empty if there is no seal."""
    manifest = _read(entry) or {"files": {}}
    return {path: (record[0], record[2]) for path, record in manifest["files"].items()}


def _survey(root: Path) -> Iterator[tuple[str, str, int, list[int]]]:
    """Path, kind, permissions and fingerprint of everything below a directory."""
    pending = [("", os.fspath(root))]
    while pending:
        prefix, directory = pending.pop()
        try:
            found = os.scandir(directory)
        except FileNotFoundError:
            return
        with found:
            for item in found:
                about = item.stat(follow_symlinks=False)
                path = prefix + item.name
                kind = _kind(about.st_mode)
                # What is in a directory shows in its files; its own size and time change with them.
                fingerprint = [about.st_size, about.st_mtime_ns, about.st_ino] if kind == "file" else []
                yield path, kind, stat.S_IMODE(about.st_mode), fingerprint
                if kind == "directory":
                    pending.append((path + "/", item.path))


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "special"


def _content(path: str, kind: str) -> str:
    if kind == "link":  # of which there are hundreds, read at every start
        return os.readlink(path)  # noqa: PTH115
    if kind != "file":
        return ""
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write(entry: Path, manifest: dict[str, Any]) -> None:
    body = json.dumps(manifest, separators=(",", ":")).encode()
    write_durably(entry / MANIFEST, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def _read(entry: Path) -> dict[str, Any] | None:
    try:
        claimed, _, body = (entry / MANIFEST).read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(body).hexdigest().encode() != claimed:
        return None
    manifest: dict[str, Any] = json.loads(body)
    return manifest
