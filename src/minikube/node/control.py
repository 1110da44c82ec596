"""The host's side of a node's control socket. Protocol: see the supervisor.

`status` stands on this module, so it imports nothing that only other callers need.
"""

from __future__ import annotations

# The C half of socket alone: what Python adds to it takes longer to load than a whole conversation takes.
import _socket
import os
import sys

from minikube.host.quickjson import dumps, loads
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ANSWER_TIMEOUT = 10.0
_DESCRIPTOR_BYTES = 4  # a C int


class ControlUnreachable(Reason):
    """Nobody answers at the control socket: the node does not run."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__("GUEST_STATUS", f"The node does not answer at {path}: {why}", advice="Run `minikube start`.")


class ControlRefused(Reason):
    """The supervisor answered that it cannot do what was asked."""

    def __init__(self, verb: str, error: str) -> None:
        super().__init__("GUEST_STATUS", f"The node refused to {verb}: {error}", advice="See `minikube logs`.")


class Conversation:
    """One connection: a request, then messages both ways."""

    def __init__(self, path: str, *, timeout: float | None) -> None:
        self.path, self._buffer = path, b""
        self.descriptors: list[int] = []
        self.socket = _socket.socket(_socket.AF_UNIX)
        self.socket.settimeout(timeout)
        directory = -1
        try:
            # Through the directory's descriptor: a socket's path may have 107 bytes, a profile's path has more.
            directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)  # noqa: PTH120
            self.socket.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")  # noqa: PTH119
        except OSError as error:
            self.socket.close()
            raise ControlUnreachable(path, error.strerror or str(error)) from None
        finally:
            if directory >= 0:
                os.close(directory)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        data = dumps(message).encode() + b"\n"
        try:
            sent = self.socket.sendmsg([data], _rights(descriptors))
            if sent < len(data):  # sending nothing is not nothing: it fails once the node has answered and closed
                self.socket.sendall(data[sent:])
        except OSError as error:
            raise ControlUnreachable(self.path, error.strerror or str(error)) from None

    def hear(self) -> dict[str, Any]:
        """The next message; descriptors that came with it are in `descriptors`."""
        while b"\n" not in self._buffer:
            try:
                data, ancillary, _, _ = self.socket.recvmsg(1 << 16, _socket.CMSG_LEN(_DESCRIPTOR_BYTES), _socket.MSG_CMSG_CLOEXEC)
            except OSError as error:
                raise ControlUnreachable(self.path, error.strerror or "no answer in time") from None
            if not data:
                raise ControlUnreachable(self.path, "the node ended")
            self._buffer += data
            for _level, _kind, rights in ancillary:
                self.descriptors.append(int.from_bytes(rights[:_DESCRIPTOR_BYTES], sys.byteorder))
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = loads(line)
        return message

    def ask(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Say something and hear the answer; ControlRefused when it is a no."""
        self.say(message, descriptors)
        answer = self.hear()
        if not answer.get("ok"):
            raise ControlRefused(message["verb"], str(answer.get("error")))
        return answer


class Control:
    """What the host can ask of a running node."""

    def __init__(self, socket_path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(socket_path)

    def status(self) -> dict[str, Any]:
        return self._ask({"verb": "status"})

    def start(self, *names: str) -> None:
        self._ask({"verb": "start", "names": names})

    def stop(self, *names: str) -> None:
        """Returns when they have ended; they stay stopped until `start`."""
        self._ask({"verb": "stop", "names": names}, timeout=None)

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
        with Conversation(self.path, timeout=ANSWER_TIMEOUT) as conversation:
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

        with Conversation(self.path, timeout=ANSWER_TIMEOUT) as conversation:
            return run(conversation, _execution(argv, env, cwd), input=input, timeout=timeout)

    def transfer(self, argv: Sequence[str], *, source: int | None = None, sink: int | None = None) -> tuple[int, bytes]:
        """Run a command in the node that reads from or writes to open files of ours, however large: exit code and stderr."""
        from minikube.node.streams import transfer

        with Conversation(self.path, timeout=ANSWER_TIMEOUT) as conversation:
            return transfer(conversation, _execution(argv, None, "/"), source=source, sink=sink)

    def attach(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str = "/", tty: bool = False) -> int:
        """Run a command in the node on this process' own stdin, stdout and stderr, with `tty` on a terminal of the node; its exit code."""
        from minikube.node.streams import attach, attach_terminal

        with Conversation(self.path, timeout=ANSWER_TIMEOUT) as conversation:
            return (attach_terminal if tty else attach)(conversation, _execution(argv, env, cwd))

    def _ask(self, request: Mapping[str, Any], *, timeout: float | None = ANSWER_TIMEOUT) -> dict[str, Any]:
        with Conversation(self.path, timeout=timeout) as conversation:
            return conversation.ask(request)


def _rights(descriptors: Sequence[int]) -> list[tuple[int, int, bytes]]:
    """The message that hands file descriptors over."""
    data = b"".join(descriptor.to_bytes(_DESCRIPTOR_BYTES, sys.byteorder) for descriptor in descriptors)
    return [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)] if data else []


def _execution(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> dict[str, Any]:
    return {"verb": "exec", "argv": list(argv), "env": dict(env or {}), "cwd": cwd}
