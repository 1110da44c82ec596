"""The host's side of a node's control socket. Protocol: see the supervisor.

`status` stands on this module, so it imports nothing that only other callers need.
"""

from __future__ import annotations

# The C half of socket alone: what Python adds to it takes longer to load than a whole conversation takes.
import _socket
import os
import sys
import time

from minikube.host.quickjson import dumps, loads
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ANSWER_TIMEOUT = 10.0
STOP_TIMEOUT = 120.0  # a service has seconds to end; longer waits no supervisor
MOST_BYTES = 1 << 20  # in one message
MOST_WORDS = 2000  # of an error that people are shown
MOST_CODE = 255
_DESCRIPTOR_BYTES = 4  # a C int


class ControlUnreachable(Reason):
    """Nobody answers at the control socket: the node does not run."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__("GUEST_STATUS", f"The node does not answer at {path}: {why}", advice="Run `minikube start`.")


class ControlRefused(Reason):
    """The supervisor answered that it cannot do what was asked."""

    def __init__(self, verb: str, error: str) -> None:
        super().__init__("GUEST_STATUS", f"The node refused to {verb}: {error}", advice="See `minikube logs`.")


class CommandTimedOut(Reason, TimeoutError):
    """A command in the node did not end in time."""

    def __init__(self) -> None:
        super().__init__("GUEST_STATUS", "The command in the node took too long", advice="See `minikube logs`.")


class Conversation:
    """One connection: a request, then messages both ways. Whoever is at the other end may be hostile: all it says has a limit."""

    def __init__(self, path: str, *, timeout: float | None, peer: int | None = None) -> None:
        """`peer` is the user that has to be at the other end."""
        self.path, self._buffer = path, b""
        self.descriptors: list[int] = []
        self.socket = _socket.socket(_socket.AF_UNIX)
        self.socket.settimeout(timeout)
        try:
            _connect(self.socket, path, peer)
        except OSError as error:
            self.socket.close()
            raise ControlUnreachable(path, error.strerror or str(error)) from None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        while self.descriptors:
            os.close(self.descriptors.pop())

    def say(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        data = dumps(message).encode() + b"\n"
        try:
            sent = self.socket.sendmsg([data], _rights(descriptors))
            if sent < len(data):  # sending nothing is not nothing: it fails once the node has answered and closed
                self.socket.sendall(data[sent:])
        except OSError as error:
            raise ControlUnreachable(self.path, error.strerror or str(error)) from None

    def hear(self) -> dict[str, Any]:
        """The next message; a descriptor that came with it is in `descriptors`."""
        patience = self.socket.gettimeout()
        end = None if patience is None else time.monotonic() + patience
        try:
            while b"\n" not in self._buffer:
                if end is not None:  # for the whole message: it may come byte by byte
                    self.socket.settimeout(max(0.001, end - time.monotonic()))
                self._receive()
        except OSError as error:
            raise ControlUnreachable(self.path, error.strerror or "no answer in time") from None
        finally:
            self.socket.settimeout(patience)
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise ControlUnreachable(self.path, "its answer is not one of a supervisor")
        return message

    def has_heard(self) -> bool:
        """Whether a message is here already: select does not see that."""
        return b"\n" in self._buffer

    def exit_code(self) -> int:
        """The last message about a command, which has to come whole and soon."""
        self.socket.settimeout(ANSWER_TIMEOUT)
        code = self.hear().get("exit")
        if not isinstance(code, int) or not 0 <= code <= MOST_CODE:
            raise ControlUnreachable(self.path, "it does not say how the command ended")
        return code

    def _receive(self) -> None:
        data, ancillary, _, _ = self.socket.recvmsg(1 << 16, _socket.CMSG_LEN(_DESCRIPTOR_BYTES), _socket.MSG_CMSG_CLOEXEC)
        for level, kind, rights in ancillary:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS) and len(rights) >= _DESCRIPTOR_BYTES:
                descriptor = int.from_bytes(rights[:_DESCRIPTOR_BYTES], sys.byteorder)
                if self.descriptors:
                    os.close(descriptor)  # one is all that was ever asked for
                else:
                    self.descriptors.append(descriptor)
        if not data:
            raise ConnectionResetError(0, "the node ended")
        self._buffer += data
        if len(self._buffer) > MOST_BYTES:
            raise ConnectionAbortedError(0, "its answer is too long")

    def ask(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Say something and hear the answer; ControlRefused when it is a no."""
        self.say(message, descriptors)
        answer = self.hear()
        if answer.get("ok") is not True:
            raise ControlRefused(message["verb"], str(answer.get("error"))[:MOST_WORDS])
        return answer


class Control:
    """What the host can ask of a running node."""

    def __init__(self, socket_path: str | os.PathLike[str], *, peer: int | None = None) -> None:
        """`peer` is the user of this host that the node's supervisor has to be; None where nobody else can get at the socket."""
        self.path, self._peer = os.fspath(socket_path), peer

    def status(self) -> dict[str, Any]:
        found = self._ask({"verb": "status"})
        services = found.get("services")
        if not isinstance(services, dict) or not all(map(_is_service, services.values())):
            raise ControlUnreachable(self.path, "it does not say what runs")
        return found

    def start(self, *names: str) -> None:
        self._ask({"verb": "start", "names": names})

    def stop(self, *names: str) -> None:
        """Returns when they have ended; they stay stopped until `start`."""
        self._ask({"verb": "stop", "names": names}, timeout=STOP_TIMEOUT)

    def restart(self, *names: str) -> None:
        self._ask({"verb": "restart", "names": names})

    def wait(self, names: Sequence[str] = (), timeout: float = 60.0) -> None:
        """Returns when these services (without names: all that should run) are ready; ControlRefused when they are not in time."""
        self._ask({"verb": "wait", "names": names, "timeout": timeout}, timeout=timeout + ANSWER_TIMEOUT)

    def reload(self) -> dict[str, Any]:
        """Have the metadata read again; the names of services `added`, `removed` and `changed`."""
        return self._ask({"verb": "reload"})

    def shutdown(self, timeout: float | None = None) -> bool:
        """Ask for an orderly end and wait for it; False when it is not over in time."""
        with self.conversation(ANSWER_TIMEOUT) as conversation:
            conversation.ask({"verb": "shutdown"})
            conversation.socket.settimeout(timeout)
            try:
                return conversation.socket.recv(1) == b""
            except TimeoutError:
                return False
            except ConnectionError:
                return True

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        timeout: float | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Run a command in the node: exit code, stdout, stderr. TimeoutError when it takes too long; it is ended then."""
        from minikube.node.streams import run

        with self.conversation(ANSWER_TIMEOUT) as conversation:
            return run(conversation, _execution(argv, env, cwd), input=input, timeout=timeout)

    def transfer(
        self, argv: Sequence[str], *, source: int | None = None, sink: int | None = None, idle: float | None = None
    ) -> tuple[int, bytes]:
        """Run a command in the node that reads from or writes to open files of ours, however large: exit code and stderr.

        With `idle`, CommandTimedOut when nothing comes from it for that many seconds.
        """
        from minikube.node.streams import transfer

        with self.conversation(ANSWER_TIMEOUT) as conversation:
            return transfer(conversation, _execution(argv, None, "/"), source=source, sink=sink, idle=idle)

    def attach(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str = "/", tty: bool = False) -> int:
        """Run a command in the node on this process' own stdin, stdout and stderr, with `tty` on a terminal of the node; its exit code."""
        from minikube.node.streams import attach, attach_terminal

        with self.conversation(ANSWER_TIMEOUT) as conversation:
            return (attach_terminal if tty else attach)(conversation, _execution(argv, env, cwd))

    def conversation(self, timeout: float | None) -> Conversation:
        return Conversation(self.path, timeout=timeout, peer=self._peer)

    def _ask(self, request: Mapping[str, Any], *, timeout: float | None = ANSWER_TIMEOUT) -> dict[str, Any]:
        with self.conversation(timeout) as conversation:
            return conversation.ask(request)


def _is_service(report: object) -> bool:
    """Whether a supervisor could have said that of a service."""
    if not isinstance(report, dict) or not isinstance(report.get("state"), str):
        return False
    numbers = (value for name, value in report.items() if name not in ("state", "words"))
    return isinstance(report.get("words", ""), str) and all(value is None or isinstance(value, int | float) for value in numbers)


def _connect(socket: _socket.socket, path: str, peer: int | None) -> None:
    """To the very socket that has this name, by its descriptor: the name may be a link that leads to another node's.

    That way it may also be longer than the 107 bytes that the path of a socket may have.
    """
    found = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(found).st_mode & 0o170000 != 0o140000:
            raise ConnectionRefusedError(0, "there is no socket")
        socket.connect(f"/proc/self/fd/{found}")
    finally:
        os.close(found)
    if peer is not None:
        credentials = socket.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # process, user, group
        if int.from_bytes(credentials[4:8], sys.byteorder) != peer:
            raise ConnectionRefusedError(0, "somebody else listens there")


def _rights(descriptors: Sequence[int]) -> list[tuple[int, int, bytes]]:
    """The message that hands file descriptors over."""
    data = b"".join(descriptor.to_bytes(_DESCRIPTOR_BYTES, sys.byteorder) for descriptor in descriptors)
    return [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)] if data else []


def _execution(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> dict[str, Any]:
    return {"verb": "exec", "argv": list(argv), "env": dict(env or {}), "cwd": cwd}
