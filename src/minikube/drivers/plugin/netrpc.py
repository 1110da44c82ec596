"""Go's net/rpc over HTTP CONNECT: calls on one connection, answered in any order."""

from __future__ import annotations

import contextlib
import socket
import threading
from concurrent.futures import Future
from typing import Any

from minikube.drivers.plugin.gob import Decoder, Encoder, GobError
from minikube.drivers.plugin.gobtypes import EMPTY, STRING, UINT, Struct, Type

_REQUEST = Struct("Request", (("ServiceMethod", STRING), ("Seq", UINT)))
# Go ends these lines with a bare LF, and forgets what comes before it has answered.
_PREAMBLE = b"CONNECT /_goRPC_ HTTP/1.0\n\n"
_CONNECTED = b"HTTP/1.0 200 Connected to Go RPC"
_LONGEST_HEAD = 4096


class RemoteError(Exception):
    """The other side did what was asked, and it went wrong there: its own words."""


class ConnectionLost(Exception):
    """The other side is gone or talks nonsense: no call will be answered any more."""


class NoAnswer(Exception):
    """A call was not answered in the time it had."""


class Connection:
    """A client's connection. Any number of threads may call at once."""

    def __init__(self, address: tuple[str, int], *, timeout: float) -> None:
        self._sending = threading.Lock()
        self._state = threading.Lock()
        self._pending: dict[int, Future[Any]] = {}
        self._next = 0
        self._lost: str = ""
        self._encoder = Encoder()
        try:
            self._socket = socket.create_connection(address, timeout=timeout)
        except OSError as error:
            raise ConnectionLost(f"{address[0]}:{address[1]} does not take connections: {error.strerror or error}") from None
        try:
            self._stream = self._socket.makefile("rb")
            self._shake_hands()
            self._socket.settimeout(None)
        except BaseException:
            self._socket.close()
            raise
        self._reader = threading.Thread(target=self._receive, name="plugin replies", daemon=True)
        self._reader.start()

    def call(self, method: str, type: Type = EMPTY, value: Any = None, *, timeout: float | None = None) -> Any:
        """What the method answers; without a timeout it may take as long as it likes while the connection lives."""
        answer = self.begin(method, type, value)
        try:
            return answer.result(timeout)
        except TimeoutError:
            raise NoAnswer(f"{method} was not answered within {timeout:g} s") from None

    def begin(self, method: str, type: Type = EMPTY, value: Any = None) -> Future[Any]:
        """Send a call; its answer comes later."""
        answer: Future[Any] = Future()
        with self._sending:
            with self._state:
                if self._lost:
                    raise ConnectionLost(self._lost)
                number, self._next = self._next, self._next + 1
                self._pending[number] = answer
            request = self._encoder.encode(_REQUEST, {"ServiceMethod": method, "Seq": number})
            request += self._encoder.encode(type, {} if value is None else value)
            try:
                self._socket.sendall(request)
            except OSError as error:
                self.give_up(f"the connection broke: {error.strerror or error}")
        return answer

    def give_up(self, why: str) -> None:
        """Fail every call that waits and all that follow. The first cause given is the one that counts."""
        with self._state:
            self._lost = self._lost or why
            waiting, self._pending = list(self._pending.values()), {}
        for answer in waiting:
            answer.set_exception(ConnectionLost(self._lost))
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.give_up("the connection was closed")
        self._reader.join()
        self._stream.close()
        self._socket.close()

    def _shake_hands(self) -> None:
        try:
            self._socket.sendall(_PREAMBLE)
            status = self._stream.readline(_LONGEST_HEAD).strip()
            line = status
            while line:
                line = self._stream.readline(_LONGEST_HEAD).strip()
        except TimeoutError:
            raise ConnectionLost("it takes connections but says nothing") from None
        except OSError as error:
            raise ConnectionLost(f"the connection broke: {error.strerror or error}") from None
        if status != _CONNECTED:
            raise ConnectionLost(f"it does not speak Go's RPC; it said: {status[:200].decode(errors='replace') or 'nothing'}")

    def _receive(self) -> None:
        decoder = Decoder(self._read)
        try:
            while True:
                header = decoder.decode()
                body = decoder.decode()
                self._answer(header, body)
        except (EOFError, OSError):
            self.give_up("it closed the connection")
        except (GobError, TypeError, AttributeError, ValueError) as error:
            self.give_up(f"it sent something that is no answer: {error}")

    def _answer(self, header: dict[str, Any], body: Any) -> None:
        with self._state:
            answer = self._pending.pop(header.get("Seq", 0), None)
        if answer is None:
            return
        if problem := header.get("Error", ""):
            answer.set_exception(RemoteError(problem))
        else:
            answer.set_result(body)

    def _read(self, count: int) -> bytes:
        found = self._stream.read(count)
        if len(found) < count:
            raise EOFError
        return found
