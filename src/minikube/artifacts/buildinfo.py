"""What a Go program says of itself: the Go it was compiled with and every module in it, with the checksums go.sum has.

The same as `go version -m`, without Go.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import NamedTuple

_MAGIC = b"\xff Go buildinf:"
_HEADER = 32
_INLINE = 2  # a flag: since Go 1.18 the two texts follow the header
_SENTINEL = 16  # bytes around the list of modules
_PATH = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*")
_VERSION = re.compile(r"(\(devel\)|v[0-9][A-Za-z0-9.+-]*)?")
_SUM = re.compile(r"(h1:[A-Za-z0-9+/]{43}=)?")


class Module(NamedTuple):
    """A module as it is in the program, after replacements."""

    path: str
    version: str
    sum: str = ""
    """`h1:…`; empty for the module that has the main package, unless it came from a proxy."""


class BuildInfo(NamedTuple):
    """Everything of one program."""

    go: str
    main: Module
    modules: tuple[Module, ...]
    settings: dict[str, str]


def read_build_info(file: Path) -> BuildInfo | None:
    """None for anything but a Go program, and for one whose modules cannot be: what it says becomes paths and texts."""
    with file.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return None
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            start = data.find(_MAGIC)
            # The magic is aligned; elsewhere it is a constant of a program that looks for it, as this one does.
            while start >= 0 and start % 16:
                start = data.find(_MAGIC, start + 1)
            try:
                if start < 0 or not data[start + 15] & _INLINE:
                    return None
                go, after = _text(data, start + _HEADER)
                listed, _ = _text(data, after)
                return _parse(go.decode(), listed[_SENTINEL:-_SENTINEL].decode())
            except (IndexError, ValueError):
                return None


def _text(data: mmap.mmap, position: int) -> tuple[bytes, int]:
    size = 0
    for shift in range(0, 28, 7):
        byte = data[position]
        position += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return data[position : position + size], position + size
    raise ValueError("a text without end")


def _module(words: list[str]) -> Module:
    path, version, checksum = [*words, "", ""][:3]
    if not _PATH.fullmatch(path) or ".." in path or not _VERSION.fullmatch(version) or not _SUM.fullmatch(checksum):
        raise ValueError(f"{path[:100]!r} {version[:100]!r} is not a module")
    return Module(path, version, checksum)


def _parse(go: str, listed: str) -> BuildInfo:
    main = Module("", "")
    modules: list[Module] = []
    settings: dict[str, str] = {}
    for line in listed.splitlines():
        kind, *words = line.split("\t")
        if kind == "mod":
            main = _module(words)
        elif kind == "dep":
            modules.append(_module(words))
        elif kind == "=>" and not words[0].startswith("."):  # a directory of the builder's says nothing
            modules[-1] = _module(words)
        elif kind == "build" and words:
            key, _, value = words[0].partition("=")
            settings[key] = value
    return BuildInfo(go, main, tuple(modules), settings)
