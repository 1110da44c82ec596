"""A node on another machine: everything about it is asked of its agent there."""

from __future__ import annotations

from minikube.drivers.base import Node
from minikube.drivers.ssh.channel import expect
from minikube.node.control import ANSWER_TIMEOUT, Control

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minikube.drivers.ssh.session import Session
    from minikube.drivers.values import File, Result


class RemoteControl(Control):
    """The supervisor's verbs, through the agent: its socket takes descriptors, which no forwarding could carry."""

    def __init__(self, session: Session) -> None:
        super().__init__(f"{session.target.address}:{session.machine}")
        self._session = session

    def shutdown(self, timeout: float | None = None) -> bool:
        raise NotImplementedError("a node on another machine is stopped by its driver")

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        timeout: float | None = None,
    ) -> tuple[int, bytes, bytes]:
        from minikube.drivers.ssh import remoteexec

        with self._session.channel() as channel:
            return remoteexec.run(channel, _execution(argv, env, cwd), input=input, timeout=timeout)

    def attach(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str = "/", tty: bool = False) -> int:
        from minikube.drivers.ssh import remoteexec

        if tty:
            return self._session.terminal(list(argv))
        with self._session.channel() as channel:
            return remoteexec.attach(channel, _execution(argv, env, cwd))

    def transfer(
        self, argv: Sequence[str], *, source: int | None = None, sink: int | None = None, idle: float | None = None
    ) -> tuple[int, bytes]:
        from minikube.drivers.ssh import remoteexec

        with self._session.channel() as channel:
            return remoteexec.transfer(channel, _execution(argv, None, "/"), source=source, sink=sink, idle=idle)

    def _ask(self, request: Mapping[str, Any], *, timeout: float | None = ANSWER_TIMEOUT) -> dict[str, Any]:
        patience = None if timeout is None else timeout + ANSWER_TIMEOUT
        with self._session.channel() as channel:
            said = channel.call("control", request=dict(request), answer_within=timeout, timeout=patience)
        return expect(said, "answer", dict)


class SshNode(Node):
    def __init__(self, session: Session, *, address: str, gateway: str) -> None:
        self._session = session
        self.name, self.address, self.gateway = session.machine.lower(), address, gateway
        self.control = RemoteControl(session)

    def run(self, argv: Sequence[str], *, input: bytes | None = None, timeout: float | None = None) -> Result:
        from minikube.drivers.values import Result

        return Result(*self.control.run(argv, input=input, timeout=timeout))

    def attach(self, argv: Sequence[str], *, tty: bool) -> int:
        return self.control.attach(argv, tty=tty)

    def put(self, files: Mapping[str, File]) -> None:
        self._put(files)

    def put_own(self, files: Mapping[str, File]) -> None:
        self._put(files, own=True)

    def _put(self, files: Mapping[str, File], *, own: bool = False) -> None:
        from minikube.drivers import archives

        if files:
            self._session.call("put", archives.pack(files), timeout=None, own=own)

    def get(self, *paths: str) -> dict[str, File]:
        return self._get(paths)

    def get_own(self, *paths: str) -> dict[str, File]:
        return self._get(paths, own=True)

    def _get(self, paths: Sequence[str], *, own: bool = False) -> dict[str, File]:
        from minikube.drivers import archives

        return archives.unpack(self._session.exchange("get", paths=list(paths), own=own)[1], paths) if paths else {}

    def exists(self, path: str) -> bool:
        return expect(self._session.call("exists", path=path), "exists", bool)

    def forward(self, port: int) -> tuple[str, int]:
        return "127.0.0.1", self._session.forwards.to(self.address, port)


def _execution(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> dict[str, Any]:
    return {"verb": "exec", "argv": list(argv), "env": dict(env or {}), "cwd": cwd}
