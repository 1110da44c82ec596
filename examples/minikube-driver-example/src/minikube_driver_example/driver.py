"""A node is a few directories, and processes in namespaces that unshare(1) makes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from minikube.artifacts.components import Components
from minikube.drivers.base import Driver
from minikube.drivers.localnode import LocalNode
from minikube.drivers.values import File, Limits, Machine
from minikube.host import cgroups, resources
from minikube.host.capabilities import bounding_set
from minikube.host.files import write_durably
from minikube.host.process import spawn
from minikube.network import bridge, resolvers, subnets
from minikube.network.tools import NetworkTools
from minikube.node import supervisor
from minikube.node.control import Control, ControlUnreachable
from minikube.node.places import SUPERVISOR, WRITABLE
from minikube.output.progress import Progress
from minikube.output.reason import Reason
from minikube.profiles.paths import machine_directory

ENTER = Path(__file__).with_name("enter.sh")


class ExampleNode(LocalNode):
    """Its state is in directories of this host, so that LocalNode can do all but one thing."""

    def forward(self, port: int) -> tuple[str, int]:
        return self.address, port


class ExampleDriver(Driver):
    name = "example"
    where = "in namespaces made with unshare"

    def __init__(self, machine: str, own: Mapping[str, Any]) -> None:
        self.machine_name, self.own = machine, own
        self.directory = machine_directory(machine)
        self.facts_file = self.directory / "example.json"

    def machine(self) -> Machine:
        granted = frozenset(bounding_set())
        servers = resolvers.resolv_conf_without_relay(resolvers.host_resolvers())
        return Machine(resources.cpus(), resources.memory_mb(), cgroups.is_v2(), granted, servers)

    def create(self, components: Components, limits: Limits, progress: Progress) -> ExampleNode:
        if self.state() == "Running":
            return self.node()
        self._kill()
        for name in ("root", "run", *(f"state/{kept}" for kept in WRITABLE)):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        # Facts come before everything that hangs on them, in one piece: a crash leaves all of them or none.
        with bridge.choosing():
            facts = self._facts()
            facts["subnet"] = facts.get("subnet") or str(subnets.choose(NetworkTools(components.node_image), reserved=self._others()))
            facts |= {"limits": limits._asdict(), "image": str(components.node_image), "binaries": str(components.node_binaries)}
            write_durably(self.facts_file, json.dumps(facts))
        for name in ("etc", "var"):
            furnished = self.directory / f"state/{name}/.furnished"
            if not furnished.exists():
                shutil.rmtree(furnished.parent)  # may hold half a copy, if an earlier create was killed
                shutil.copytree(components.node_image / name, furnished.parent, symlinks=True)
                furnished.touch()
        node = self.node()
        node.put({SUPERVISOR: File(Path(supervisor.__file__).read_bytes()), "/etc/motd": File(f"{self.own.get('motd', '')}\n".encode())})
        return node

    def fill(self, progress: Progress) -> None:
        """No images: without control groups no kubelet would start them. A driver that means it clones `components.prepared_store`."""

    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        network = IPv4Network(self._created()["subnet"])
        script = f"link set lo up\naddr add {network[2]}/24 dev eth0\nlink set eth0 up\nroute add default via {network[1]}\n"
        return [{"argv": ["/usr/sbin/ip", "-batch", "-"], "input": script}]

    def start(self, metadata: Mapping[str, Any]) -> None:
        if self.state() == "Running":
            return
        facts, node = self._created(), self.node()
        self._kill()
        node.put_metadata(metadata)
        go = self.directory / "go"
        go.unlink(missing_ok=True)
        os.mkfifo(go, 0o600)
        lower = ":".join(f"{facts[part]}/usr" for part in ("binaries", "image"))
        argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--uts", "--ipc"]
        with (self.directory / "node.log").open("wb") as log:
            box = spawn([*argv, "sh", str(ENTER), str(self.directory), lower], stdout=log, stderr=log, new_session=True)
        write_durably(self.directory / "pid", str(box.pid))
        first = _first_child(box.pid)
        cable = f"ex-{hashlib.sha256(str(self.directory).encode()).hexdigest()[:8]}"
        # It ends with the node's network namespace: there is nothing to undo.
        gateway = f"{node.gateway}/24"
        NetworkTools(Path(facts["image"])).ip(
            f"link add {cable} type veth peer name eth0 netns {first}\naddr add {gateway} dev {cable}\nlink set {cable} up\n"
        )
        go.write_text("go\n")
        deadline = time.monotonic() + 30
        while not node.answers():
            if box.poll() is not None or time.monotonic() > deadline:
                log_text = (self.directory / "node.log").read_text(errors="replace")[-2000:]
                raise Reason("GUEST_PROVISION", f"the node did not come up: {log_text}", advice=f"See {self.directory}/node.log.")
            time.sleep(0.01)

    def stop(self) -> None:
        with contextlib.suppress(ControlUnreachable, OSError):
            Control(self.directory / "run/control.sock").shutdown(15)
        self._kill()

    def delete(self) -> None:
        self._kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def state(self) -> str:
        if not self._facts():
            return "Nonexistent"
        return "Running" if self.node().answers() else "Stopped"

    def limits(self) -> Limits:
        return Limits(**self._created()["limits"])

    def node(self) -> ExampleNode:
        network = IPv4Network(self._created()["subnet"])
        state, socket = str(self.directory / "state"), str(self.directory / "run/control.sock")
        return ExampleNode(self.machine_name, state=state, socket=socket, address=str(network[2]), gateway=str(network[1]))

    def _facts(self) -> dict[str, Any]:
        try:
            facts: dict[str, Any] = json.loads(self.facts_file.read_bytes())
        except FileNotFoundError:
            return {}
        return facts

    def _created(self) -> dict[str, Any]:
        facts = self._facts()
        if not facts:
            raise Reason("GUEST_LOAD_HOST", f'The machine "{self.machine_name}" does not exist', advice="Run `minikube start`.")
        return facts

    def _others(self) -> list[str]:
        files = self.directory.parent.glob("*/example.json")
        return [json.loads(file.read_bytes())["subnet"] for file in files if file != self.facts_file]

    def _kill(self) -> None:
        """End whatever is left. The kernel ends a pid namespace with its first process, and the mounts and the cable with it."""
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError, ChildProcessError):
            box = int((self.directory / "pid").read_text())
            # A process of that number may be somebody else's by now: ours has our directory among its words.
            if str(self.directory).encode() in Path(f"/proc/{box}/cmdline").read_bytes().split(b"\0"):
                os.kill(box, signal.SIGKILL)
            while Path(f"/proc/{box}").exists() and Path(f"/proc/{box}/cmdline").read_bytes():
                time.sleep(0.01)


def _first_child(process: int) -> int:
    """The first process of the new namespaces, by its number here."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise Reason("GUEST_PROVISION", "unshare(1) made no process", advice="See node.log in the machine's directory.")
