"""The native driver: a node is a `runc` container of the node image on a network of ours. No VM, no engine, no daemon.

`status` and `ssh` stand on this module; what makes and unmakes boxes is in box.py, loaded when it is needed.
"""

from __future__ import annotations

from minikube.drivers.base import Driver
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.node import NativeNode
from minikube.host.freezer import is_frozen
from minikube.host.quickjson import loads
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.native.box import Box
    from minikube.drivers.values import Limits, Machine
    from minikube.output.progress import Progress


class NativeDriver(Driver):
    name = "none"
    where = "natively on this host"
    needs_root = True

    def __init__(self, machine: str, *, user_namespace: bool = True) -> None:
        self.layout = Layout(machine)
        self.user_namespace = user_namespace  # whether the next box is to have one, if it can
        self._made: Box | None = None

    def machine(self) -> Machine:
        from minikube.drivers.values import Machine
        from minikube.host import cgroups, resources
        from minikube.host.capabilities import bounding_set
        from minikube.network.resolvers import host_resolvers, node_resolv_conf

        granted, enclosure = frozenset(bounding_set()), self.facts().get("enclosure")
        return Machine(
            resources.cpus(),
            resources.memory_mb(),
            cgroups.is_v2(),
            granted,
            node_resolv_conf(host_resolvers()),
            user_namespace=bool(enclosure),
            pods_can_have_one=not enclosure or enclosure.get("pods", False),
        )

    def create(self, components: Components, limits: Limits, progress: Progress) -> NativeNode:
        if self.state() not in ("Running", "Paused"):
            self._box().create(components, limits)
        return self.node()

    def fill(self, progress: Progress) -> None:
        self._box().fill()

    def build(self) -> None:
        if self.state() not in ("Running", "Paused"):
            self._box().build()

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        from minikube.drivers.native import setup

        return setup.commands(subnet=self._created()["subnet"], service_address=service_address, api_port=api_port)

    def start(self, metadata: Mapping[str, Any]) -> None:
        if self.state() not in ("Running", "Paused"):
            self._box().start(metadata)

    def stop(self) -> None:
        self._box().stop()

    def delete(self) -> None:
        self._box().delete()

    def state(self) -> str:
        if not self.facts():
            return "Nonexistent"
        if is_frozen(self.layout.cgroup):
            return "Paused"
        return "Running" if self.node().answers() else "Stopped"

    def node(self) -> NativeNode:
        network = self._created()["subnet"].partition("/")[0].rpartition(".")[0]
        return NativeNode(self.layout, address=f"{network}.2", gateway=f"{network}.1")

    def change_limits(self, limits: Limits) -> bool:
        return self._box().change_limits(limits)

    def limits(self) -> Limits:
        from minikube.drivers.values import Limits

        return Limits(**self._created()["limits"])

    def facts(self) -> dict[str, Any]:
        """What was decided when the machine was created; empty if it never was."""
        try:
            with open(f"{self.layout.place}/native.json", "rb") as stream:  # noqa: PTH123
                facts: dict[str, Any] = loads(stream.read())
            if not isinstance(facts, dict) or not isinstance(facts.get("subnet", ""), str):
                raise ValueError("it does not hold the facts of a machine")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except ValueError as error:
            raise Reason(
                "GUEST_LOAD_HOST",
                f"{self.layout.facts} is damaged: {error}",
                advice="Restore it from a copy, or delete the profile (minikube delete) and start it again.",
            ) from error
        return facts

    def _created(self) -> dict[str, Any]:
        facts = self.facts()
        if "subnet" not in facts:
            raise Reason(
                "GUEST_LOAD_HOST",
                f'The machine "{self.layout.machine}" does not exist: it was never made, or {self.layout.facts} was removed',
                advice="Run `minikube start`.",
            )
        return facts

    def warnings(self) -> list[str]:
        why = self.facts().get("not_enclosed")
        if not why:
            return []
        return [f"A privileged pod can take over this machine: the node has no user namespace of its own ({why}). See docs/security.md."]

    def look_after(self) -> None:
        self._box().look_after()

    def host_changes(self) -> list[dict[str, Any]]:
        return self._box().host_changes()

    def missing(self) -> list[str]:
        return self._box().missing()

    def _box(self) -> Box:
        if self._made is None:
            from minikube.drivers.native.box import Box

            self._made = Box(self)
        return self._made
