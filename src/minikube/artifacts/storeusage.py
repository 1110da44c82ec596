"""What the store holds and how large it is, and the removal of parts of it beside commands that use others."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts.store import Recipe, Store, remove_tree

_BLOCK = 512  # what st_blocks counts
_ENTRY = re.compile(r"/entries/([^/\s\"',:]+)")


class Busy(Exception):
    """Another command is making or replacing it just now."""


class Bulk(NamedTuple):
    """The files below a path: bytes on disk, names below the path and names anywhere, by inode."""

    inodes: Mapping[tuple[int, int], tuple[int, int, int]]

    @property
    def size(self) -> int:
        return sum(size for size, _, _ in self.inodes.values())


def bulk(path: Path) -> Bulk:
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    waiting = [str(path)]
    while waiting:
        here = waiting.pop()
        with contextlib.suppress(OSError):  # gone meanwhile
            status = os.lstat(here)
            directory = stat.S_ISDIR(status.st_mode)
            key = (status.st_dev, status.st_ino)
            _, seen, _ = found.get(key, (0, 0, 0))
            # The links of a directory are its subdirectories' way up: it has one name.
            found[key] = (status.st_blocks * _BLOCK, seen + 1, 1 if directory else status.st_nlink)
            if directory:
                waiting += [entry.path for entry in os.scandir(here)]
    return Bulk(found)


def freed(bulks: Iterable[Bulk]) -> int:
    """Bytes that come free when all of these go: a file with a name elsewhere stays."""
    seen: Counter[tuple[int, int]] = Counter()
    facts = {}
    for one in bulks:
        for key, (size, count, links) in one.inodes.items():
            seen[key] += count
            facts[key] = (size, links)
    return sum(size for key, (size, links) in facts.items() if seen[key] >= links)


def names_needed(recipes: Iterable[Recipe]) -> set[str]:
    """The entries of these recipes, and those they are made of."""
    found: set[str] = set()

    def add(recipe: Recipe) -> None:
        if recipe.entry_name not in found:
            found.add(recipe.entry_name)
            for need in recipe.needs:
                add(need)

    for recipe in recipes:
        add(recipe)
    return found


def names_in(text: str, store: Store) -> set[str]:
    """Entries of the store that a file tells of: a machine's own, or the mounts of a process."""
    marked = str(store.root)
    return {match[1] for line in text.splitlines() if marked in line for match in _ENTRY.finditer(line)}


def names_in_use(store: Store) -> set[str]:
    """Entries that running processes stand on: nodes of whichever home have them mounted."""
    found: set[str] = set()
    seen: set[int] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            namespace = (process / "ns/mnt").stat().st_ino
            if namespace not in seen:
                found |= names_in((process / "mountinfo").read_text(errors="replace"), store)
                seen.add(namespace)
            found |= names_in(str((process / "exe").readlink()), store)
    return found


def is_building(store: Store) -> bool:
    """Whether some command is making an entry just now."""
    for path in (store.root / "locks").glob("*.lock"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def remove_entry(store: Store, name: str) -> None:
    """It is gone at once for everybody, then its files go."""
    locks, building = store.root / "locks", store.root / "building"
    locks.mkdir(parents=True, exist_ok=True)
    building.mkdir(exist_ok=True)
    with (locks / f"{name}.lock").open("a+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(name) from None
        away = building / f"{name}.{secrets.token_hex(4)}"
        (store.root / "entries" / name).rename(away)
        remove_tree(away)
