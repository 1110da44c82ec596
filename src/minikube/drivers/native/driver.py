"""The native driver: a node is a `runc` container of the node image on a network of ours. No VM, no engine, no daemon.

`status` and `ssh` stand on this module; what makes and unmakes boxes is in box.py, loaded when it is needed.
"""

from __future__ import annotations

from minikube.drivers.base import Driver
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.node import NativeNode
from minikube.host import credentials
from minikube.host.credentials import roots_work
from minikube.host.freezer import is_frozen
from minikube.host.quickjson import loads
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.native.box import Box
    from minikube.drivers.native.machinedirectory import MachineDirectory
    from minikube.drivers.values import Limits, Machine
    from minikube.network.firewall import Access
    from minikube.output.progress import Progress


class NativeDriver(Driver):
    name = "none"
    where = "natively on this host"
    needs_root = True

    def __init__(self, machine: str, *, user_namespace: bool = True, access: Mapping[str, Any] | None = None) -> None:
        self.layout = Layout(machine)
        self.user_namespace = user_namespace  # whether the next box is to have one, if it can
        self.wanted_access = access or {}
        self._made: Box | None = None
        self._directory: MachineDirectory | None = None

    @property
    def access(self) -> Access:
        """Who may connect to the next box, and what it may connect to; the owner is decided when it is made."""
        from minikube.network import hostaccess
        from minikube.network.firewall import Access
        from minikube.profiles import ownership

        wanted, person = Access(**self.wanted_access), ownership.behind_root()
        opened = hostaccess.ports([*wanted.host, *hostaccess.ports_here(wanted.asked)])
        return wanted._replace(owner=person.uid if person else 0, host=opened)

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
            user_ids=(enclosure or {}).get("size", 1 << 24),
        )

    @roots_work
    def create(self, components: Components, limits: Limits, progress: Progress) -> NativeNode:
        if self.state() not in ("Running", "Paused"):
            self._box().create(components, limits)
        return self.node()

    @roots_work
    def fill(self, progress: Progress) -> None:
        self._box().fill()

    @roots_work
    def build(self) -> None:
        if self.state() not in ("Running", "Paused"):
            self._box().build()

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        from minikube.drivers.native import setup

        facts = self._created()
        closed = not facts.get("enclosure") and not facts.get("guarded")
        return setup.commands(subnet=facts["subnet"], service_address=service_address, api_port=api_port, closed=closed)

    @roots_work
    def start(self, metadata: Mapping[str, Any]) -> None:
        if self.state() not in ("Running", "Paused"):
            self._box().start(metadata)

    @roots_work
    def stop(self) -> None:
        self._box().stop()

    @roots_work
    def delete(self) -> None:
        self._box().delete()

    @roots_work
    def state(self) -> str:
        if "subnet" not in self.facts():
            return "Nonexistent"
        if is_frozen(self.layout.cgroup):
            return "Paused"
        return "Running" if self.node().answers() else "Stopped"

    @roots_work
    def node(self) -> NativeNode:
        return NativeNode(self.layout, self._created())

    @roots_work
    def change_limits(self, limits: Limits) -> bool:
        return self._box().change_limits(limits)

    def limits(self) -> Limits:
        from minikube.drivers.values import Limits

        return Limits(**self._created()["limits"])

    @roots_work
    def facts(self) -> dict[str, Any]:
        """What was decided when the machine was created; empty if it never was. Root leaves out what it must not act on."""
        self.enter()
        try:
            with open(f"{self.layout.reached}/native.json", "rb") as stream:  # noqa: PTH123
                facts: dict[str, Any] = loads(stream.read())
            if not isinstance(facts, dict) or not isinstance(facts.get("subnet", ""), str):
                raise ValueError("it does not hold the facts of a machine")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except ValueError as error:
            raise Reason(
                "GUEST_LOAD_HOST",
                f"{self.layout.place}/native.json is damaged: {error}",
                advice="Restore it from a copy, or delete the profile (minikube delete) and start it again.",
            ) from error
        if credentials.person():
            from minikube.drivers.native.records import checked

            return checked(facts)
        return facts

    def enter(self, *, make: bool = False) -> MachineDirectory | None:
        """Have root, where it works for somebody, reach the machine's directory by a way that nobody can change meanwhile."""
        if not credentials.person():
            return None
        if self._directory is None:
            from minikube.drivers.native.machinedirectory import MachineDirectory

            self._directory = MachineDirectory(self.layout)
        self._directory.enter(make=make)
        return self._directory

    def roots_directory(self) -> Path | None:
        self.enter(make=True)
        return self.layout.directory if credentials.person() else None

    def _created(self) -> dict[str, Any]:
        facts = self.facts()
        if "subnet" not in facts:
            raise Reason(
                "GUEST_LOAD_HOST",
                f'The machine "{self.layout.machine}" does not exist: it was never made, or {self.layout.place}/native.json was removed',
                advice="Run `minikube start`.",
            )
        return facts

    def warnings(self) -> list[str]:
        from minikube.host import inherited

        found = []
        if why := self.facts().get("not_enclosed"):
            found.append(
                f"A privileged pod can take over this machine: the node has no user namespace of its own ({why}). See docs/security.md."
            )
        most = inherited.limits()["NOFILE"][1]
        if most < inherited.LEAST_OPEN_FILES:
            found.append(
                f"Processes of the node may have {most} open files each, too few for a busy cluster: this shell's hard limit cannot be "
                "raised without CAP_SYS_RESOURCE. Start it from a shell with a higher one (ulimit -Hn)."
            )
        return found

    @roots_work
    def look_after(self) -> None:
        self._box().look_after()

    @roots_work
    def host_changes(self) -> list[dict[str, Any]]:
        return self._box().host_changes()

    @roots_work
    def missing(self) -> list[str]:
        return self._box().missing()

    def _box(self) -> Box:
        self.enter()
        if self._made is None:
            from minikube.drivers.native.box import Box

            self._made = Box(self)
        return self._made
