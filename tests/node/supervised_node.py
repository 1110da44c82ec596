"""A real supervisor as a real process, with a directory of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikube.node import supervisor
from minikube.node.control import Control, ControlUnreachable

INTERPRETER = [sys.executable, "-I", "-S"]


def until(condition: Callable[[], Any], *, seconds: float = 20.0) -> Any:
    """The first true value of the condition; fails the test when there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("the condition did not come true in time")


class SupervisedNode:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.metadata = directory / "node.json"
        self.socket = directory / "control.sock"
        self.control = Control(self.socket)
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, services: list[dict[str, Any]], **fields: Any) -> None:
        fields = {"name": "test", "control_socket": str(self.socket), "log_directory": str(self.directory / "log")} | fields
        self.metadata.write_text(json.dumps(fields | {"services": services}))

    def start(self, services: list[dict[str, Any]], *, prefix: tuple[str, ...] = (), **fields: Any) -> None:
        self.configure(services, **fields)
        self.process = subprocess.Popen([*prefix, *INTERPRETER, supervisor.__file__, str(self.metadata)])
        until(self.answers)

    def answers(self) -> bool:
        try:
            return bool(self.control.status()["ok"])
        except ControlUnreachable:
            return False

    def service(self, name: str) -> dict[str, Any]:
        return dict(self.control.status()["services"][name])

    def until_state(self, name: str, *states: str) -> dict[str, Any]:
        return dict(until(lambda: found if (found := self.service(name))["state"] in states else None))

    def log(self, name: str) -> str:
        path = self.directory / "log" / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def lines(self, name: str) -> list[str]:
        """Lines that services left in a file of the node's directory."""
        path = self.directory / name
        return path.read_text().split() if path.exists() else []


def alive(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
