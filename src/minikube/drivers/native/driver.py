"""The native driver: a node is a `runc` container of the node image on a network of ours. No VM, no engine, no daemon.

`status` and `ssh` stand on this module; what makes and unmakes boxes is in box.py, loaded when it is needed.
"""

from __future__ import annotations

import json

from minikube.drivers.base import Driver
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.node import NativeNode
from minikube.host import cgroups
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.native.box import Box
    from minikube.drivers.values import Limits


class NativeDriver(Driver):
    name = "none"

    def __init__(self, machine: str) -> None:
        self.layout = Layout(machine)

    def create(self, components: Components, limits: Limits) -> NativeNode:
        self._box().create(components, limits)
        return self.node()

    def fill(self) -> None:
        self._box().fill()

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        from minikube.drivers.native import setup

        return setup.commands(subnet=self.facts()["subnet"], service_address=service_address, api_port=api_port)

    def start(self, metadata: Mapping[str, Any]) -> None:
        self._box().start(metadata)

    def stop(self) -> None:
        self._box().stop()

    def delete(self) -> None:
        self._box().delete()

    def state(self) -> str:
        if not self.facts():
            return "Nonexistent"
        if cgroups.is_frozen(self.layout.cgroup):
            return "Paused"
        return "Running" if self.node().answers() else "Stopped"

    def node(self) -> NativeNode:
        network = self.facts()["subnet"].partition("/")[0].rpartition(".")[0]
        return NativeNode(self.layout, address=f"{network}.2", gateway=f"{network}.1")

    def limits(self) -> Limits:
        from minikube.drivers.values import Limits

        return Limits(**self.facts()["limits"])

    def tree(self) -> Path:
        return self.layout.state("")

    def facts(self) -> dict[str, Any]:
        """What was decided when the machine was created; empty if it never was."""
        try:
            facts: dict[str, Any] = json.loads(self.layout.facts.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except ValueError as error:
            raise Reason(
                "GUEST_LOAD_HOST",
                f"{self.layout.facts} is damaged: {error}",
                advice="Restore it from a copy, or delete the profile (minikube delete) and start it again.",
            ) from error
        return facts

    def _box(self) -> Box:
        from minikube.drivers.native.box import Box

        return Box(self)
