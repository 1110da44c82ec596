"""Talking with agents on the machine: each is an SSH session of the one connection, and serves one request at a time."""

from __future__ import annotations

import contextlib
import threading

from minikube.drivers.ssh import explain, place
from minikube.drivers.ssh.connection import Connection
from minikube.drivers.ssh.wire import Closed, Silent, Wire, understood
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen
    from typing import Any, TypeVar

    from minikube.drivers.ssh.target import Target

    T = TypeVar("T")

GREETING_SECONDS = 25
ANSWER_SECONDS = 120
# OpenSSH's server allows ten sessions for one connection, unless told otherwise.
MOST = 6
MOST_WORDS = 4000  # of what people are shown
MOST_CODE = 255


class NoAgent(Exception):
    """The agent did not start; the words are the machine's."""


class Channel:
    def __init__(self, process: Popen[bytes], target: Target) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101
        self._process, self._target = process, target
        self.wire = Wire(process.stdout.fileno(), process.stdin.fileno())

    def wait_for_greeting(self) -> None:
        try:
            self.wire.skip_to_greeting(GREETING_SECONDS)
        except Closed:
            words = self._last_words()
            self.close()
            raise NoAgent(words) from None
        except Silent:
            self.close()
            raise explain.unreachable(self._target, "no answer in time") from None

    def call(self, verb: str, blob: bytes | None = None, *, timeout: float | None = ANSWER_SECONDS, **request: Any) -> dict[str, Any]:
        return self.exchange(verb, blob, timeout=timeout, **request)[0]

    def exchange(
        self, verb: str, blob: bytes | None = None, *, timeout: float | None = ANSWER_SECONDS, **request: Any
    ) -> tuple[dict[str, Any], bytes]:
        """Ask, and give the answer with its blob; an error over there is raised here."""
        with self.telling():
            self.wire.say({"verb": verb, **request}, blob)
            answer, data = self.wire.hear(timeout)
        return _unless_error(answer), data

    def answer(self, *, timeout: float | None = ANSWER_SECONDS) -> dict[str, Any]:
        """The answer to a request that was more than a message."""
        with self.telling():
            answer, _ = self.wire.hear(timeout)
        return _unless_error(answer)

    def exit_code(self, payload: bytes) -> int:
        """From the message that ends a command."""
        with self.telling():
            answer = understood(payload)
        code = expect(_unless_error(answer), "exit", int)
        if not 0 <= code <= MOST_CODE:
            raise _not_an_answer("exit")
        return code

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """What a broken connection means. Whatever else interrupts, what comes next is not an answer to the next request: all over."""
        try:
            yield
        except Closed:
            self.close()
            raise explain.unreachable(self._target, "the connection broke") from None
        except Silent:
            self.close()
            raise explain.unreachable(self._target, "no answer in time") from None
        except BaseException:
            self.close()
            raise

    def _last_words(self) -> str:
        """What came on stderr. Whoever holds that open, or writes for ever, is not waited for."""
        import os
        import select

        assert self._process.stderr  # noqa: S101
        words, source = b"", self._process.stderr.fileno()
        while len(words) < MOST_WORDS and select.select([source], [], [], 1)[0] and (data := os.read(source, MOST_WORDS)):
            words += data
        return words.decode(errors="replace").strip()

    @property
    def usable(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """The agent ends when it hears no more from us, and with it what it was running."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


class Agents:
    """Channels for any number of threads; those that are free are used again."""

    def __init__(self, connection: Connection, command: str) -> None:
        self._connection, self._command = connection, command
        self._free: list[Channel] = []
        self._lock = threading.Lock()
        self._places = threading.Semaphore(MOST)

    @contextlib.contextmanager
    def channel(self) -> Iterator[Channel]:
        with self._places:
            with self._lock:
                channel = self._free.pop() if self._free else None
            if channel is None or not channel.usable:
                channel = self._open()
            try:
                yield channel
            finally:
                if channel.usable:
                    with self._lock:
                        self._free.append(channel)

    def close(self) -> None:
        with self._lock:
            for channel in self._free:
                channel.close()
            self._free.clear()

    def _open(self) -> Channel:
        channel = Channel(self._connection.spawn(self._command), self._connection.target)
        channel.wait_for_greeting()
        return channel


def start_command(sudo: str, digest: str, client: str, machine: str, *words: str) -> str:
    """A command line without anything that a shell, whichever it is, would understand differently."""
    return " ".join([f"{sudo}{place.AGENTS}/{digest}/start", client, machine, *words])


def expect(answer: dict[str, Any], field: str, kind: type[T]) -> T:
    """A field of an answer, if it is what it should be: whoever is root over there can have the agent say anything."""
    value = answer.get(field)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _not_an_answer(field)
    return value


def _unless_error(answer: dict[str, Any]) -> dict[str, Any]:
    if answer.get("error") is None:
        return answer
    from minikube.node.control import CommandTimedOut, ControlRefused, ControlUnreachable

    error = expect(answer, "error", dict)
    kind, message = expect(error, "kind", str), expect(error, "message", str)[:MOST_WORDS]
    if kind == "ControlUnreachable":
        raise _as(ControlUnreachable("", ""), message)
    if kind == "ControlRefused":
        raise _as(ControlRefused("", ""), message)
    if kind == "TimeoutError":
        raise CommandTimedOut
    if kind == "Reason":
        code = expect(error, "exit_code", int)
        raise Reason(
            expect(error, "id", str),
            message,
            advice=expect(error, "advice", str)[:MOST_WORDS],
            exit_code=code if 0 < code <= MOST_CODE else None,
        )
    raise Reason("GUEST_PROVISION", f"The agent on the machine failed: {message}", advice="minikube logs --last-start-only")


def _not_an_answer(field: str) -> Reason:
    return Reason(
        "GUEST_PROVISION",
        f"The agent on the machine gives an answer that is none ({field})",
        advice="Another program answers there in its place, or the machine is not to be trusted.",
    )


def _as(reason: Reason, message: str) -> Reason:
    reason.message, reason.args = message, (message,)
    return reason


def hexadecimal(words: list[str]) -> str:
    import json

    return json.dumps(words).encode().hex()
