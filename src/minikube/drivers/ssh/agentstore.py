"""At the machine's end: the store there, filled with what it does not have yet. Same layout and seals as the store of any host."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minikube.artifacts import sealing
from minikube.artifacts.store import remove_tree
from minikube.drivers.ssh.offer import Item
from minikube.drivers.ssh.wire import Wire
from minikube.host.files import cannot_write
from minikube.profiles.paths import store


def missing(names: Sequence[str]) -> list[str]:
    """Those entries that are not there whole; a damaged one is put away (a running node may stand on its files)."""
    found = []
    for name in names:
        entry = store() / "entries" / name
        if entry.is_dir() and sealing.check(entry) is None:
            continue
        if entry.exists():
            away = store() / "damaged" / name
            away.parent.mkdir(exist_ok=True)
            remove_tree(away)
            entry.rename(away)
        found.append(name)
    return found


class Delivery:
    """Entries that were offered: their lists first, then the contents that are in no file of this store."""

    def __init__(self, offer: bytes) -> None:
        listed: dict[str, list[list[Any]]] = json.loads(zlib.decompress(offer))
        self._entries = {name: [Item(*item) for item in items] for name, items in listed.items()}
        self._objects = store() / "objects"
        self._objects.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._known = _sealed_files()
        self._needed = self._count()

    def wanted(self) -> list[str]:
        """Contents to be sent; what an interrupted delivery has brought already is not."""
        contents = dict.fromkeys(item.content for items in self._entries.values() for item in items if item.kind == "file")
        return [content for content in contents if content not in self._known and not (self._objects / content).exists()]

    def take(self, wire: Wire) -> None:
        """Receive every wanted content, then lay out the entries."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._clean_up)
            try:
                for content in self.wanted():
                    self._receive(content, wire)
                placed: dict[str, Path] = {}
                laid_out = {name: self._lay_out(name, items, placed) for name, items in self._entries.items()}
                os.sync()
                for name, work in laid_out.items():
                    _put_in_place(work, store() / "entries" / name)
            except OSError as error:
                stack.pop_all()
                raise cannot_write(Path(error.filename or store()), error) from error
            except BaseException:
                stack.pop_all()  # what has come is kept for the next attempt
                raise

    def _receive(self, content: str, wire: Wire) -> None:
        digest = hashlib.sha256()
        unfinished = self._objects / f".{content}.{os.getpid()}"
        try:
            with unfinished.open("wb") as stream:
                for piece in wire.blob():
                    data = zlib.decompress(piece[1:]) if piece[:1] == b"z" else piece[1:]
                    digest.update(data)
                    stream.write(data)
            if digest.hexdigest() != content:
                raise OSError(5, "what came is not what was sent", str(unfinished))
            unfinished.replace(self._objects / content)
        finally:
            unfinished.unlink(missing_ok=True)

    def _lay_out(self, name: str, items: Sequence[Item], placed: dict[str, Path]) -> Path:
        """A finished entry, but for its place."""
        work = store() / "building" / f"{name}.{os.getpid()}"
        remove_tree(work)
        content = work / sealing.CONTENT
        content.mkdir(parents=True)
        directories = []
        for item in items:
            path = content / item.path
            if item.kind == "directory":
                path.mkdir()
                directories.append(item)
            elif item.group and item.group in placed:
                path.hardlink_to(placed[item.group])
            else:
                self._make(path, item)
                if item.group:
                    placed[item.group] = path
        for item in reversed(directories):  # last: what is put into a directory changes its time
            _give_attributes(content / item.path, item)
        digests = {item.path: item.content for item in items if item.kind == "file"}
        sealing.seal(work, name=name.rpartition("-")[0], identity="", known=digests)
        return work

    def _make(self, path: Path, item: Item) -> None:
        if item.kind == "link":
            path.symlink_to(item.content)
        elif item.kind == "special":
            kind, _, number = item.content.partition(" ")
            os.mknod(path, int(kind), int(number))
        elif self._needed[item.content] == 1 and (self._objects / item.content).exists():
            (self._objects / item.content).rename(path)
        else:
            self._needed[item.content] -= 1
            shutil.copyfile(self._source(item.content), path)
        _give_attributes(path, item)

    def _count(self) -> dict[str, int]:
        """How many files of its own each content becomes: the last one need not be a copy."""
        seen: set[str] = set()
        needed: dict[str, int] = {}
        for item in (item for items in self._entries.values() for item in items if item.kind == "file"):
            if item.group not in seen:
                needed[item.content] = needed.get(item.content, 0) + 1
            seen |= {item.group} - {""}
        return needed

    def _source(self, content: str) -> Path:
        delivered = self._objects / content
        return delivered if delivered.exists() else self._known[content]

    def _clean_up(self) -> None:
        for item in {item.content for items in self._entries.values() for item in items if item.kind == "file"}:
            (self._objects / item).unlink(missing_ok=True)
        for directory in (self._objects, store() / "building"):
            with contextlib.suppress(OSError):
                directory.rmdir()


def _sealed_files() -> dict[str, Path]:
    """Content to a file that has it, over all entries."""
    found: dict[str, Path] = {}
    for entry in (store() / "entries").glob("*"):
        for path, (kind, content) in sealing.records(entry).items():
            if kind == "file":
                found.setdefault(content, entry / sealing.CONTENT / path)
    return found


def _put_in_place(work: Path, target: Path) -> None:
    if target.exists():  # somebody else was quicker
        remove_tree(work)
    else:
        target.parent.mkdir(exist_ok=True)
        work.rename(target)


def _give_attributes(path: Path, item: Item) -> None:
    os.chown(path, item.uid, item.gid, follow_symlinks=False)
    for name, value in item.attributes.items():
        os.setxattr(path, name, bytes.fromhex(value), follow_symlinks=False)
    if item.kind != "link":
        path.chmod(item.mode)
    os.utime(path, ns=(item.mtime, item.mtime), follow_symlinks=False)
