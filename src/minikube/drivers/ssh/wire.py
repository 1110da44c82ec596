"""Frames between this host and its agent on the machine: a letter, a length, that many bytes. Both ends use this module."""

from __future__ import annotations

import json
import os
import select
import threading
import time

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

# A log-in script may greet: whatever comes before this line is not ours.
GREETING = b"\n#minikube-agent-1\n"

MESSAGE, BLOB, END = b"J", b"B", b"E"
STDIN, STDIN_END, STDOUT, STDERR, TAKEN = b"0", b"4", b"1", b"2", b"T"

CHUNK = 1 << 16
LARGEST = 1 << 24  # one frame
MOST_BYTES = 1 << 28  # a blob that is kept in memory
MOST_WORDS = 1 << 20  # before the greeting


class Closed(Exception):
    """The other end is gone, or does not speak the protocol."""


class Silent(Exception):
    """The other end has said nothing for as long as we would wait."""


class Wire:
    """Two descriptors. Any thread may send, one at a time may receive."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self._buffer = bytearray()
        self._sending = threading.Lock()

    def send(self, kind: bytes, payload: bytes | memoryview = b"") -> None:
        with self._sending:
            self._write(kind + len(payload).to_bytes(4, "big"))
            self._write(payload)

    def say(self, message: Mapping[str, Any], blob: bytes | None = None) -> None:
        """A message; one that announces a blob is followed by it."""
        self.send(MESSAGE, json.dumps(dict(message) | ({"blob": True} if blob is not None else {})).encode())
        if blob is not None:
            view = memoryview(blob)
            for start in range(0, len(blob), CHUNK):
                self.send(BLOB, view[start : start + CHUNK])
            self.send(END)

    def receive(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """The next frame. Closed at the end, Silent when it did not come in time."""
        end = None if timeout is None else time.monotonic() + timeout
        self._fill(5, end)
        kind, length = bytes(self._buffer[:1]), int.from_bytes(self._buffer[1:5], "big")
        if length > LARGEST:
            raise Closed("what came is not the protocol")
        self._fill(5 + length, end)
        payload = bytes(self._buffer[5 : 5 + length])
        del self._buffer[: 5 + length]
        return kind, payload

    def hear(self, timeout: float | None = None) -> tuple[dict[str, Any], bytes]:
        """The next message, and its blob. What was still under way for a command that has ended is dropped."""
        end = None if timeout is None else time.monotonic() + timeout
        kind, payload = self.receive(_left(end))
        while kind in (STDIN, STDIN_END) or (kind == MESSAGE and payload.startswith(b'{"signal"')):
            kind, payload = self.receive(_left(end))
        if kind != MESSAGE:
            raise Closed(f"a message was due, {kind!r} came")
        message = understood(payload)
        if not message.pop("blob", False):
            return message, b""
        blob = bytearray()
        for piece in self.blob(end):
            blob += piece
            if len(blob) > MOST_BYTES:
                raise Closed("too much came")
        return message, bytes(blob)

    def blob(self, end: float | None = None) -> Iterator[bytes]:
        """The pieces of a blob, up to its end."""
        while True:
            kind, payload = self.receive(_left(end))
            if kind == END:
                return
            if kind != BLOB:
                raise Closed(f"a piece was due, {kind!r} came")
            yield payload

    def skip_to_greeting(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while (at := self._buffer.find(GREETING)) < 0:
            if len(self._buffer) > MOST_WORDS:
                raise Closed("no greeting came")
            self._fill(len(self._buffer) + 1, end)
        del self._buffer[: at + len(GREETING)]

    def pending(self) -> bool:
        """Whether bytes that were read already wait for `receive`: select does not see those."""
        return len(self._buffer) >= 5 and len(self._buffer) >= 5 + int.from_bytes(self._buffer[1:5], "big")

    def is_closed(self) -> bool:
        """Whether the other end has gone without another word."""
        if self._buffer or not select.select([self.source], [], [], 0)[0]:
            return False
        self._buffer += (data := os.read(self.source, 1 << 18))
        return not data

    def _fill(self, size: int, end: float | None) -> None:
        while len(self._buffer) < size:
            if end is not None and not select.select([self.source], [], [], _left(end))[0]:
                raise Silent
            data = os.read(self.source, 1 << 18)
            if not data:
                raise Closed("the connection ended")
            self._buffer += data

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.sink, view) :]
        except (BrokenPipeError, ConnectionError):
            raise Closed("the connection ended") from None


def understood(payload: bytes) -> dict[str, Any]:
    """The message in a frame; Closed if it is none."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Closed("what came is no message")
    return message


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
