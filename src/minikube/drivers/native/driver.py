"""The native driver: a node is a `runc` container of the node image on a network of ours. No VM, no engine, no daemon."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

from minikube.artifacts.components import Components
from minikube.artifacts.prepared import clone_store
from minikube.drivers.base import Driver, Limits
from minikube.drivers.native import bundle, setup
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.node import NativeNode
from minikube.drivers.native.runc import Runc
from minikube.host import cgroups
from minikube.host.files import write_durably
from minikube.host.journal import Change, Journal
from minikube.network import bridge, subnets
from minikube.network.tools import NetworkTools
from minikube.node.control import ControlUnreachable
from minikube.output.reason import Reason

GRACE = 15.0  # seconds for an orderly shutdown; the supervisor's own deadline is shorter


class NativeDriver(Driver):
    name = "none"

    def __init__(self, machine: str) -> None:
        self.layout = Layout(machine)
        self.journal = Journal(self.layout.journal)

    def create(self, components: Components, limits: Limits) -> NativeNode:
        if os.geteuid() != 0:
            raise Reason(
                "DRV_NEEDS_ROOT",
                "the native driver makes namespaces and a network bridge, which needs root rights",
                advice="Run the same command with sudo: sudo -E minikube start",
            )
        facts = self._facts()
        tools = NetworkTools(components.node_image)
        self.layout.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.state() != "Running":
            # A crash, or somebody who removed our directory, may have left parts of the last run: start from a clean host.
            self._undo(facts)
            _empty(self.layout.cgroup)
        with bridge.choosing():
            if "subnet" not in facts:
                facts["subnet"] = str(subnets.choose(tools, reserved=self._reserved()))
            facts |= {
                "node_image": str(components.node_image),
                "node_binaries": str(components.node_binaries),
                "prepared_store": str(components.prepared_store),
                "runc": str(components.runc),
                "kubernetes_version": components.kubernetes_version,
                "limits": limits._asdict(),
                "cgroup": self.layout.cgroup,
            }
            write_durably(self.layout.facts, json.dumps(facts, indent=2) + "\n")
            if self.state() == "Stopped":
                bridge.create(tools, self.journal, self.layout.bridge, IPv4Network(facts["subnet"]))
        bundle.write_root(self.layout)
        self._furnish(components)
        specification = bundle.configuration(self.layout, components, limits, cgroup_v2=cgroups.is_v2())
        (self.layout.bundle / "config.json").write_text(json.dumps(specification))
        return self.node()

    def fill(self) -> None:
        target = self.layout.state("var/lib/containerd")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            clone_store(Path(self._facts()["prepared_store"]), target)

    def start(self, metadata: Mapping[str, Any]) -> None:
        facts = self._facts()
        self.node().put_metadata(metadata)
        runc = self._runc(facts)
        self.journal.record(
            {"kind": "cgroup", "path": self.layout.cgroup},
            {"kind": "container", "id": self.layout.container},
        )
        self.layout.control_socket.unlink(missing_ok=True)
        process = runc.create(self.layout.container, self.layout.bundle, log=self.layout.directory / "node.log")
        bridge.plug(NetworkTools(Path(facts["node_image"])), bridge=self.layout.bridge, cable=self.layout.cable, process=process)
        runc.start(self.layout.container)
        self._wait_for_supervisor(runc)

    def stop(self) -> None:
        facts = self._facts()
        if not facts:
            return
        if self.state() == "Paused":
            self._runc(facts).resume(self.layout.container)
        process = self._process(facts)
        if process:
            with contextlib.suppress(ControlUnreachable, OSError):
                self.node().control.shutdown(GRACE)
            self._wait_for_end(process)
        self._undo(facts)

    def delete(self) -> None:
        self.stop()
        if self.layout.directory.exists():
            shutil.rmtree(self.layout.directory)

    def state(self) -> str:
        if not self.layout.facts.exists():
            return "Nonexistent"
        if cgroups.is_frozen(self.layout.cgroup):
            return "Paused"
        return "Running" if self.node().answers() else "Stopped"

    def node(self) -> NativeNode:
        subnet = IPv4Network(self._facts()["subnet"])
        return NativeNode(self.layout, address=str(subnet[2]), gateway=str(subnet[1]))

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        subnet = IPv4Network(self._facts()["subnet"])
        address = IPv4Interface(f"{subnet[2]}/{subnet.prefixlen}")
        return setup.commands(address=address, gateway=str(subnet[1]), service_address=service_address, api_port=api_port)

    def tree(self) -> Path:
        return self.layout.state("")

    def _facts(self) -> dict[str, Any]:
        try:
            facts: dict[str, Any] = json.loads(self.layout.facts.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise Reason(
                "GUEST_LOAD_HOST",
                f"{self.layout.facts} is damaged: {error}",
                advice="Restore it from a copy, or delete the profile (minikube delete) and start it again.",
            ) from error
        return facts

    def _reserved(self) -> list[str]:
        """Subnets of the other machines of this home, running or not."""
        found = []
        for facts in self.layout.directory.parent.glob("*/native.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                found.append(json.loads(facts.read_bytes())["subnet"])
        return found

    def _furnish(self, components: Components) -> None:
        """The node's own /etc and /var, from the image's skeleton; what a user changed there stays."""
        for name in ("etc", "var"):
            skeleton, target = components.node_image / name, self.layout.state(name)
            marker = target / ".furnished"
            if not marker.exists():
                shutil.copytree(skeleton, target, symlinks=True, dirs_exist_ok=True)
                marker.touch()
        for name, value in setup.KERNEL_SETTINGS.items():
            setting = self.layout.state(f"{setup.SETTINGS_DIRECTORY}/{name}")
            setting.parent.mkdir(parents=True, exist_ok=True)
            setting.write_text(value + "\n")
        import minikube.node.supervisor as supervisor

        shutil.copyfile(supervisor.__file__, self.layout.state(bundle.SUPERVISOR))

    def _runc(self, facts: Mapping[str, Any]) -> Runc:
        return Runc(Path(facts["runc"]), self.layout.runc_state)

    def _process(self, facts: Mapping[str, Any]) -> int:
        return self._runc(facts).process(self.layout.container) if self.layout.runc_state.exists() else 0

    def _wait_for_supervisor(self, runc: Runc) -> None:
        deadline = time.monotonic() + 10
        while not self.node().answers():
            if not runc.process(self.layout.container) or time.monotonic() > deadline:
                log = self.layout.directory / "node.log"
                raise Reason("GUEST_PROVISION", f"the node did not come up: {log.read_text(errors='replace')[-2000:]}", advice=f"See {log}.")
            time.sleep(0.005)

    def _wait_for_end(self, process: int) -> None:
        deadline = time.monotonic() + 1
        while _alive(process):
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(0.005)

    def _undo(self, facts: Mapping[str, Any]) -> None:
        tools = NetworkTools(Path(facts["node_image"])) if "node_image" in facts else None

        def with_tools(undo: Any) -> Any:
            return lambda change: undo(tools, change) if tools else None

        self.journal.undo(
            {
                "container": lambda change: self._runc(facts).remove(change["id"]),
                "cgroup": lambda change: _empty(change["path"]),
                "bridge": with_tools(bridge.undo_bridge),
                "firewall": with_tools(bridge.undo_firewall),
                "sysctl": self._undo_sysctl,
            }
        )

    def _undo_sysctl(self, change: Change) -> None:
        """Another running profile may need the setting: then it inherits the duty to put it back."""
        for path in self.layout.directory.parent.glob("*/host-changes.json"):
            heir = Journal(path)
            if path != self.layout.journal and any(other["kind"] == "bridge" for other in heir.changes()):
                heir.inherit(change)
                return
        bridge.undo_sysctl(change)


def _alive(process: int) -> bool:
    try:
        # A zombie whose parent has not looked yet is as good as gone.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _empty(path: str) -> None:
    """End whatever is left in the node's control group (there should be nothing), then remove it."""
    deadline = time.monotonic() + 5
    while left := cgroups.processes(path):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    cgroups.remove(path)
