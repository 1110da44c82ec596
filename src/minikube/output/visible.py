"""Text of strangers (nodes, images, registries, plugins) for a terminal: control characters are shown, never obeyed."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TextIO

_LINES_AND_TABS = str.maketrans("", "", "\n\t")
# C0 and C1 controls and DEL; what reorders the text around it; bytes that were no UTF-8.
_RANGES = ((0x00, 0x1F), (0x7F, 0x9F), (0x202A, 0x202E), (0x2066, 0x2069), (0xDC80, 0xDCFF))
_shown: dict[int, str] = {}


def visible(text: str) -> str:
    """The same text with control characters and bidirectional overrides as `\\u001b`, which JSON and YAML read as the same character.

    Newlines and tabs stay, and a carriage return before a newline goes: that is how some programs end their lines.
    """
    if text.isascii() and text.translate(_LINES_AND_TABS).isprintable():
        return text
    if not _shown:
        _shown.update((code, f"\\u{code:04x}") for first, last in _RANGES for code in range(first, last + 1) if code not in (0x09, 0x0A))
    return text.replace("\r\n", "\n").translate(_shown)


class Guarded:
    """A text stream on which nothing but `unguarded` can write control characters: no command has to remember to."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        return self.unguarded.write(visible(text))

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def guard_streams() -> None:
    """From now on `print` and the like are safe on stdout and stderr, whether they are terminals or files that are read on one later."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Guarded):
            setattr(sys, name, Guarded(stream))


def unguarded(stream: TextIO) -> TextIO:
    """Where this program's own colours and cursor movements are written; their text must be `visible` already."""
    return stream.unguarded if isinstance(stream, Guarded) else stream


class GuardedDescriptors:
    """Whatever is written to descriptors 1 and 2 meanwhile, by any process that gets them, is made visible first."""

    def __enter__(self) -> None:
        import threading

        self._kept: list[tuple[int, int]] = []
        self._pumps: list[threading.Thread] = []
        for number in (1, 2):
            source, sink = os.pipe()
            kept = os.dup(number)
            os.dup2(sink, number)
            os.close(sink)
            self._kept.append((number, kept))
            pump = threading.Thread(target=_pump, args=(source, kept), name=f"output {number}", daemon=True)
            pump.start()
            self._pumps.append(pump)

    def __exit__(self, *_error: object) -> None:
        for number, kept in self._kept:
            os.dup2(kept, number)
        # A process in the node that keeps the pipe open does not keep us.
        for pump in self._pumps:
            pump.join(1.0)


def _pump(source: int, sink: int) -> None:
    try:
        for text in _texts(source):
            data = visible(text).encode(errors="backslashreplace")
            while data:
                data = data[os.write(sink, data) :]
    except OSError:  # nobody reads any more: the closed pipe says so to the writer
        pass
    finally:
        os.close(source)


def _texts(source: int) -> Iterator[str]:
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")("backslashreplace")
    while chunk := os.read(source, 1 << 16):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)
