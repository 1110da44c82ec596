"""What a Go program says of itself: the Go it was compiled with and every module in it, with the checksums go.sum has.

The same as `go version -m`, without Go.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import NamedTuple

_MAGIC = b"\xff Go buildinf:"
_HEADER = 32
_INLINE = 2  # a flag: since Go 1.18 the two texts follow the header
_SENTINEL = 16  # bytes around the list of modules


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
    """None for anything but a Go program."""
    with file.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return None
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            start = data.find(_MAGIC)
            # The magic is aligned; elsewhere it is a constant of a program that looks for it, as this one does.
            while start >= 0 and start % 16:
                start = data.find(_MAGIC, start + 1)
            if start < 0 or not data[start + 15] & _INLINE:
                return None
            go, after = _text(data, start + _HEADER)
            listed, _ = _text(data, after)
    return _parse(go.decode(), listed[_SENTINEL:-_SENTINEL].decode())


def _text(data: mmap.mmap, position: int) -> tuple[bytes, int]:
    size = shift = 0
    while True:
        byte = data[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return data[position : position + size], position + size


def _parse(go: str, listed: str) -> BuildInfo:
    main = Module("", "")
    modules: list[Module] = []
    settings: dict[str, str] = {}
    for line in listed.splitlines():
        kind, *words = line.split("\t")
        if kind == "mod":
            main = Module(*words[:3])
        elif kind == "dep":
            modules.append(Module(*words[:3]))
        elif kind == "=>":
            modules[-1] = Module(*words[:3])
        elif kind == "build" and words:
            key, _, value = words[0].partition("=")
            settings[key] = value
    return BuildInfo(go, main, tuple(modules), settings)
