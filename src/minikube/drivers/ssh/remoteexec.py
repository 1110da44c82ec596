"""At this end: a command in the node, its streams as frames. See agentexec.py for the other end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minikube.drivers.ssh.channel import Channel
from minikube.drivers.ssh.wire import CHUNK, MESSAGE, STDERR, STDIN, STDIN_END, STDOUT, TAKEN, Closed, Silent
from minikube.node.control import CommandTimedOut
from minikube.node.streams import MOST_OUTPUT

FRAME_SECONDS = 60.0  # for a frame that has begun
WINDOW = 4 * CHUNK  # how much stdin may be under way; the rest stays here, and signals overtake it


def run(channel: Channel, request: Mapping[str, Any], *, input: bytes | None, timeout: float | None) -> tuple[int, bytes, bytes]:
    """Run to the end and give exit code, stdout and stderr. TimeoutError when it takes too long; it is ended then."""
    deadline = None if timeout is None else time.monotonic() + timeout
    collected = {STDOUT: bytearray(), STDERR: bytearray()}
    left, under_way = memoryview(input or b""), 0
    with channel.telling():
        wire = channel.wire
        wire.say({"verb": "execute", "request": dict(request)})
        ended = False
        while True:
            while left and under_way < WINDOW:
                wire.send(STDIN, left[:CHUNK])
                under_way += len(left[:CHUNK])
                left = left[CHUNK:]
            if not left and not ended:
                ended = True
                wire.send(STDIN_END)
            try:
                kind, payload = wire.receive(None if deadline is None else max(0.0, deadline - time.monotonic()))
            except Silent:
                raise CommandTimedOut from None
            if kind == MESSAGE:
                break
            if kind == TAKEN:
                under_way = _still_under_way(under_way, payload)
            elif kind not in collected or sum(map(len, collected.values())) + len(payload) > MOST_OUTPUT:
                raise Closed("more came than a command may write")
            else:
                collected[kind] += payload
    return channel.exit_code(payload), bytes(collected[STDOUT]), bytes(collected[STDERR])


def attach(channel: Channel, request: Mapping[str, Any]) -> int:
    """Run on our own stdin, stdout and stderr, passing signals on; its exit code."""
    sinks = {STDOUT: 1, STDERR: 2}
    with _signals() as signals:
        return _follow(channel, request, source=0, take=lambda kind, data: _write(sinks[kind], data), signals=signals)


def transfer(
    channel: Channel, request: Mapping[str, Any], *, source: int | None, sink: int | None, idle: float | None = None
) -> tuple[int, bytes]:
    """Run with open files of ours as stdin, stdout or both, however large: exit code and stderr."""
    errors = bytearray()

    def take(kind: bytes, data: bytes) -> None:
        nonlocal errors
        if kind == STDERR:
            errors += data[: MOST_OUTPUT - len(errors)]
        elif sink is not None:
            _write_all(sink, data)

    return _follow(channel, request, source=source, take=take, idle=idle), bytes(errors)


def _follow(
    channel: Channel,
    request: Mapping[str, Any],
    *,
    source: int | None,
    take: Callable[[bytes, bytes], None],
    signals: int | None = None,
    idle: float | None = None,
) -> int:
    """Send what `source` gives and the signals that come, hand what the command writes to `take`, until its exit code is there."""
    under_way, reading = 0, source is not None
    with channel.telling():
        wire = channel.wire
        wire.say({"verb": "execute", "request": dict(request)})
        if source is None:
            wire.send(STDIN_END)
        while True:
            wanted = (signals, source if reading and under_way < WINDOW else None)
            open_ones = [descriptor for descriptor in wanted if descriptor is not None]
            ready = [wire.source] if wire.pending() else select.select([wire.source, *open_ones], [], [], idle)[0]
            if not ready:
                raise CommandTimedOut
            if signals is not None and signals in ready:
                for number in os.read(signals, 16):
                    wire.send(MESSAGE, json.dumps({"signal": number}).encode())
            if source is not None and source in ready:
                data = os.read(source, CHUNK)
                under_way += len(data)
                reading = bool(data)
                wire.send(STDIN if data else STDIN_END, data)
            if wire.source in ready:
                kind, payload = wire.receive(FRAME_SECONDS)
                if kind == MESSAGE:
                    break
                if kind == TAKEN:
                    under_way = _still_under_way(under_way, payload)
                elif kind in (STDOUT, STDERR):
                    take(kind, payload)
                else:
                    raise Closed(f"{kind!r} does not belong here")
    return channel.exit_code(payload)


def _still_under_way(before: int, taken: bytes) -> int:
    """After the other end has said how much it has taken: never more than was sent."""
    return max(0, before - int.from_bytes(taken[:4], "big"))


def _write(sink: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # `| head`: the command goes on, as it does without us in between
        _write_all(sink, data)


def _write_all(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]


@contextlib.contextmanager
def _signals() -> Iterator[int]:
    """A descriptor with the numbers of signals that came: a handler itself might come in the middle of a frame."""
    source, sink = os.pipe()

    def note(number: int, _frame: object) -> None:
        os.write(sink, bytes([number]))

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)}
    try:
        yield source
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(source)
        os.close(sink)
