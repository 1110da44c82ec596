"""The agent: what this project runs on somebody's machine. It is the native driver, told over SSH what to do.

It runs as root for as long as its SSH session lasts, with the node image's Python, and serves one request after the other.
"""

from __future__ import annotations

import contextlib
import os
import sys

from minikube.drivers.native.driver import NativeDriver
from minikube.drivers.ssh.wire import GREETING, Closed, Wire
from minikube.node.control import ControlRefused, ControlUnreachable
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from minikube.drivers.base import Node


class Agent:
    """Every method without an underscore is a verb: it takes the request and its blob, and gives an answer, maybe with a blob."""

    def __init__(self, machine: str, wire: Wire) -> None:
        self._driver = NativeDriver(machine)
        self._wire = wire

    def serve(self) -> None:
        while True:
            request, blob = self._wire.hear()
            try:
                answer, data = getattr(self, request.pop("verb"))(request, blob)
                self._wire.say(answer, data)
            except Closed:
                raise
            except Exception as error:
                self._wire.say({"error": _error(error)})

    # the machine and its store

    def entries(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        from minikube.drivers.ssh import agentstore

        return {"missing": agentstore.missing(request["names"])}, None

    def offer(self, _request: Mapping[str, Any], blob: bytes) -> tuple[dict[str, Any], None]:
        from minikube.drivers.ssh import agentstore

        self._delivery = agentstore.Delivery(blob)
        return {"wanted": self._delivery.wanted()}, None

    def deliver(self, _request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        self._delivery.take(self._wire)
        return {}, None

    # the driver

    def create(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        from pathlib import Path

        from minikube.artifacts.components import Components
        from minikube.drivers.values import Limits
        from minikube.output.progress import Progress

        values: dict[str, Any] = {name: Path(value) if value.startswith("/") else value for name, value in request["components"].items()}
        self._driver.user_namespace = request["user_namespace"]
        self._driver.wanted_access = request["access"]
        with self._alone():
            node = self._driver.create(Components(**values), Limits(**request["limits"]), Progress(None))
        made = {"address": node.address, "gateway": node.gateway, "warnings": self._driver.warnings()}
        machine = self._driver.machine()
        users = {name: getattr(machine, name) for name in ("user_namespace", "pods_can_have_one", "user_ids")}
        return made | users, None

    def fill(self, _request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        from minikube.output.progress import Progress

        self._driver.fill(Progress(None))
        return {}, None

    def setup(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        return {"setup": self._driver.setup(service_address=request["service_address"], api_port=request["api_port"])}, None

    def start(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        with self._alone():
            self._driver.start(request["metadata"])
        return {}, None

    def stop(self, _request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        with self._alone():
            self._driver.stop()
        return {}, None

    def delete(self, _request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        from minikube.host.untrustedtree import Tree

        directory = self._driver.layout.directory
        with self._alone():
            self._driver.delete()
            # What the driver keeps beside its own, and then whatever holds nothing any more.
            Tree(directory.parent).remove(directory.name)
            with contextlib.suppress(OSError):
                for parent in list(directory.parents)[:4]:
                    parent.rmdir()
        return {}, None

    def state(self, _request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        return {"state": self._driver.state()}, None

    def limits(self, _request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        return {"limits": self._driver.limits()._asdict()}, None

    # the node

    def put(self, request: Mapping[str, Any], blob: bytes) -> tuple[dict[str, Any], None]:
        from minikube.drivers import archives

        node = self._node()
        (node.put_own if request.get("own") else node.put)(archives.unpack(blob, None))
        return {}, None

    def get(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], bytes]:
        from minikube.drivers import archives

        node = self._node()
        return {}, archives.pack((node.get_own if request.get("own") else node.get)(*request["paths"]))

    def exists(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        return {"exists": self._node().exists(request["path"])}, None

    def control(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        with self._node().control.conversation(request["answer_within"]) as conversation:
            return {"answer": conversation.ask(request["request"])}, None

    def execute(self, request: Mapping[str, Any], _blob: bytes) -> tuple[dict[str, Any], None]:
        from minikube.drivers.ssh.agentexec import execute

        return {"exit": execute(self._node().control, request["request"], self._wire)}, None

    def _node(self) -> Node:
        return self._driver.node()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """A command whose connection broke may still be at work here when the next one comes."""
        import fcntl
        from pathlib import Path

        home = Path(os.environ["MINIKUBE_HOME"]).parent
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._wire.is_closed():  # whoever asked is gone, and somebody else may have done something else meanwhile
                raise Closed
            yield
        finally:
            os.close(lock)


def main(words: list[str]) -> None:
    """`<machine>`: serve on stdin and stdout. `<machine> attach <hex>`: become a command on a terminal of the node."""
    machine = words[0]
    if words[1:2] == ["attach"]:
        import json

        sys.exit(_attach(machine, json.loads(bytes.fromhex(words[2]))))
    # What a library prints by accident must not get between the frames.
    sink = os.dup(1)
    os.dup2(2, 1)
    os.write(sink, GREETING)
    with contextlib.suppress(Closed):
        Agent(machine, Wire(0, sink)).serve()


def _attach(machine: str, argv: list[str]) -> int:
    try:
        return NativeDriver(machine).node().attach(argv, tty=True)
    except Reason as reason:
        print(reason.message, file=sys.stderr)
        return 255


def _error(error: Exception) -> dict[str, Any]:
    """An exception, so that it can be raised again at the other end."""
    if isinstance(error, ControlUnreachable | ControlRefused):
        return {"kind": type(error).__name__, "message": error.message}
    if isinstance(error, Reason):
        return {"kind": "Reason", "id": error.id, "message": error.message, "advice": error.advice, "exit_code": error.exit_code}
    if isinstance(error, TimeoutError):
        return {"kind": "TimeoutError", "message": str(error)}
    return {"kind": "other", "message": f"{type(error).__name__}: {error}"}
