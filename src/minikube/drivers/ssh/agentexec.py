"""At the machine's end: a command in the node, its streams as frames.

stdin comes only as fast as the command takes it (each piece taken is said so), so that a signal never waits behind it.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Mapping
from typing import Any

from minikube.drivers.ssh.wire import CHUNK, MESSAGE, STDERR, STDIN, STDIN_END, STDOUT, TAKEN, Closed, Wire
from minikube.node.control import ANSWER_TIMEOUT, Control, Conversation
from minikube.node.streams import MOST_IN_A_PIPE


def execute(control: Control, request: Mapping[str, Any], wire: Wire) -> int:
    """Run it to the end and give its exit code. When our client goes, the command is ended by the supervisor."""
    with control.conversation(ANSWER_TIMEOUT) as conversation:
        inside, ours = zip(*(_pipe(number) for number in range(3)), strict=True)
        try:
            conversation.ask(request, inside)
        finally:
            for descriptor in inside:
                os.close(descriptor)
        conversation.socket.settimeout(None)
        streams = _Streams(conversation, wire, *ours)
        try:
            return streams.relay()
        finally:
            streams.close()


def _pipe(number: int) -> tuple[int, int]:
    """The node's end and ours."""
    source, sink = os.pipe()
    node, ours = (source, sink) if number == 0 else (sink, source)
    os.set_blocking(ours, False)
    return node, ours


class _Streams:
    def __init__(self, conversation: Conversation, wire: Wire, stdin: int, stdout: int, stderr: int) -> None:
        self._conversation, self._wire = conversation, wire
        self._stdin, self._ended = stdin, False
        self._pending = bytearray()
        self._outputs = {stdout: STDOUT, stderr: STDERR}

    def relay(self) -> int:
        talk, source = self._conversation.socket.fileno(), self._wire.source
        while True:
            writing = [self._stdin] if self._stdin >= 0 and self._pending else []
            pending = self._wire.pending()
            heard = self._conversation.has_heard()
            ready, writable, _ = select.select([talk, source, *self._outputs], writing, [], 0 if pending or heard else None)
            if heard or talk in ready:
                code = self._conversation.exit_code()
                for descriptor in list(self._outputs):
                    for _ in range(MOST_IN_A_PIPE // CHUNK + 1):  # background processes may write for ever
                        if not self._output(descriptor):
                            break
                return code
            for descriptor in [*self._outputs]:
                if descriptor in ready:
                    self._output(descriptor)
            if writable:
                self._input()
            if pending or source in ready:
                self._frame()

    def _frame(self) -> None:
        kind, payload = self._wire.receive()
        if kind == STDIN:
            self._pending += payload
        elif kind == STDIN_END:
            self._ended = True
        elif kind == MESSAGE:
            import json

            self._conversation.say(json.loads(payload))
        else:
            raise Closed(f"{kind!r} does not belong here")
        if self._ended and not self._pending:
            self._close_stdin()

    def _input(self) -> None:
        try:
            taken = os.write(self._stdin, self._pending)
        except BlockingIOError:
            return
        except OSError:  # the command has closed its stdin: it wants no more
            taken = len(self._pending)
            self._close_stdin()
        del self._pending[:taken]
        self._wire.send(TAKEN, taken.to_bytes(4, "big"))
        if self._ended and not self._pending:
            self._close_stdin()

    def _output(self, descriptor: int) -> bool:
        """Pass a piece on; False when there is none now or never again."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self._wire.send(self._outputs[descriptor], data)
        else:
            del self._outputs[descriptor]
            os.close(descriptor)
        return bool(data)

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    def close(self) -> None:
        self._close_stdin()
        for descriptor in self._outputs:
            with contextlib.suppress(OSError):
                os.close(descriptor)
