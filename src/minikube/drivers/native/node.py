"""A native node: commands through its control socket, files straight from its state directory."""

from __future__ import annotations

import json
import os

from minikube.drivers.base import Node
from minikube.drivers.native.layout import METADATA, Layout
from minikube.node.control import Control, ControlUnreachable

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minikube.drivers.values import File, Result


class NativeNode(Node):
    def __init__(self, layout: Layout, *, address: str, gateway: str) -> None:
        self._layout = layout
        self.name = layout.machine
        self.address = address
        self.gateway = gateway
        self.control = Control(str(layout.control_socket))

    def run(self, argv: Sequence[str], *, input: bytes | None = None, timeout: float | None = None) -> Result:
        from minikube.drivers.values import Result

        return Result(*self.control.run(list(argv), input=input, timeout=timeout))

    def attach(self, argv: Sequence[str], *, tty: bool) -> int:
        return self.control.attach(list(argv), tty=tty)

    def put(self, files: Mapping[str, File]) -> None:
        for path, file in files.items():
            target = self._layout.state(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            # Secrets must never be readable for a moment: the mode is there before the content is.
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, file.mode)
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, file.mode)
                stream.write(file.content)

    def put_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Say who the node is and which services run; the supervisor reads it when it starts."""
        from minikube.drivers.values import File

        self.put({METADATA: File(json.dumps(metadata, indent=1).encode(), 0o600)})

    def read(self, path: str) -> bytes | None:
        try:
            return self._layout.state(path).read_bytes()
        except FileNotFoundError:
            return None

    def answers(self) -> bool:
        """Whether the supervisor is there: the node runs."""
        try:
            self.control.status()
        except (ControlUnreachable, OSError):
            return False
        return True

    def services(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.control.status()["services"]
        return found
