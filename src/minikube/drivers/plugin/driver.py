"""A driver that is a plugin: the plugin makes, starts, stops and removes the machine; the node on it is the ssh driver's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minikube.artifacts.components import Components
from minikube.drivers.base import Driver, Node
from minikube.drivers.plugin.machine import PluginMachine
from minikube.drivers.ssh.driver import SshDriver
from minikube.drivers.ssh.session import Session
from minikube.drivers.ssh.target import Target
from minikube.drivers.values import Limits, Machine
from minikube.output.debuglog import debug
from minikube.output.progress import Progress
from minikube.output.reason import Reason

# What is not known before the machine is made must not be a reason to refuse anything.
_ANY = Machine(cpus=1 << 12, memory_mb=1 << 30, cgroup_v2=True, capabilities=frozenset(), resolv_conf="")


class PluginDriver(Driver):
    step = "Creating VM"

    def __init__(self, name: str, binary: Path, machine: str, own: Mapping[str, Any]) -> None:
        self.name = name
        self.where = f"on a machine of the driver '{name}'"
        self._box = PluginMachine(name, binary, machine, own)
        self._is_up = False
        self._ssh: SshDriver | None = None

    def machine(self) -> Machine:
        return self._on_it().machine() if self._is_up else _ANY

    def prepare(self, progress: Progress) -> None:
        if not self._is_up:
            self._box.ensure_running(progress)
            self._is_up = True

    def create(self, components: Components, limits: Limits, progress: Progress) -> Node:
        self.prepare(progress)
        return self._on_it().create(components, limits, progress)

    def fill(self, progress: Progress) -> None:
        self._on_it().fill(progress)

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        return self._on_it().setup(service_address=service_address, api_port=api_port)

    def start(self, metadata: Mapping[str, Any]) -> None:
        self._on_it().start(metadata)

    def stop(self) -> None:
        if not self._box.target():
            return
        if self._box.state() == "Running":
            self._on_it().stop()
            self._box.stop()
        self._is_up = False

    def delete(self) -> None:
        if self._box.target():
            self._delete_node()
        self._box.remove()
        self._is_up, self._ssh = False, None

    def state(self) -> str:
        if not self._box.target():
            return "Nonexistent"
        return self._on_it().state() if self._box.state() == "Running" else "Stopped"

    def limits(self) -> Limits:
        return self._on_it().limits()

    def node(self) -> Node:
        return self._on_it().node()

    def _on_it(self) -> SshDriver:
        target = self._box.target()
        if target is None:
            raise Reason(
                "GUEST_LOAD_HOST",
                f'The machine "{self._box.machine}" does not exist: it was never made, or its directory was removed',
                advice="Run `minikube start`.",
            )
        if self._ssh is None:
            self._ssh = SshDriver(self._box.machine, Target.kept(target))
        return self._ssh

    def _delete_node(self) -> None:
        """Some plugins only lend a machine: it must be as clean as it was. But no fault there may keep the plugin from removing it."""
        try:
            if self._box.state() == "Running":
                self._on_it().delete()
        except Reason as reason:
            debug(f"the node on {self._box.machine} was not deleted: {reason.message}")
        Session(self._box.machine, Target.kept(self._box.target() or {})).forget()
