"""The driver under test, and one machine of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from minikube.artifacts import catalogue
from minikube.artifacts.assembly import provide_components
from minikube.artifacts.components import Components
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.drivers import machinefile, registry
from minikube.drivers.base import Driver, Node
from minikube.drivers.values import Limits
from minikube.output.progress import Progress
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.profiles.settings import Settings
from minikube.profiles.values import parse

T = TypeVar("T")

LIMITS = Limits(cpus=0, memory_mb=1024, pids=1024)
PORT = 9000
GREETING = b"hello from the node\n"
PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}
SERVICES = [
    {"name": "sleeper", "argv": ["sleep", "86400"], "env": PATH},
    {"name": "idle", "argv": ["sleep", "86400"], "env": PATH, "autostart": False},
    {"name": "once", "argv": ["true"], "env": PATH, "kind": "oneshot"},
    {"name": "greeter", "argv": ["socat", f"TCP-LISTEN:{PORT},fork,reuseaddr", f"SYSTEM:echo {GREETING.decode().strip()}"], "env": PATH},
]


class Subject:
    """A driver by name, with the flags of `start` it needs."""

    def __init__(self, name: str, flags: Sequence[str] = ()) -> None:
        self.definition = registry.definition(name)
        known = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS, *self.definition.flags())}
        given: dict[str, Any] = {}
        for text in flags:
            key, _, value = text.partition("=")
            given[key] = parse(known[key].kind, value)
        self.settings = Settings(known, {"driver": name, **given}, use_file=False)

    def configuration(self, machine: str) -> dict[str, Any]:
        config = new_cluster_config(machine)
        config.Driver = self.definition.name
        return self.definition.configure(config, self.settings, {})

    def driver(self, machine: str) -> Driver:
        """The driver object, made as `start` makes it for a new machine."""
        own = self.configuration(machine)
        driver = self.definition.make(machine, own)
        machinefile.save(machine, self.definition.name, own)
        return driver

    def again(self, machine: str) -> Driver:
        """The driver object of a machine that was made before, as every other command makes it."""
        return registry.driver_for(self.definition.name, machine)


class Box:
    """A machine and what tests do with it."""

    def __init__(self, subject: Subject, machine: str = "") -> None:
        self.subject = subject
        self.machine = machine or f"kit-{secrets.token_hex(3)}"
        self.driver = subject.driver(self.machine)

    @property
    def node(self) -> Node:
        return self.driver.node()

    def create(self) -> Node:
        return self.driver.create(components(), LIMITS, silent())

    def start(self, **fields: Any) -> None:
        setup = self.driver.setup(service_address="10.96.0.1", api_port=8443)
        metadata: Mapping[str, Any] = {"name": self.machine, "setup": setup, "services": SERVICES, "restart": {"first": 0.1}, **fields}
        self.driver.start(metadata)

    def up(self) -> Node:
        self.create()
        self.start()
        self.node.wait_for_services("sleeper", "greeter", timeout=60)
        return self.node


def components() -> Components:
    """Everything a node is made from; built first where the store does not have it."""
    return provide_components(catalogue.version_set(catalogue.resolve_version("")), silent())


def silent() -> Progress:
    return Progress(None)


def eventually(condition: Callable[[], T], *, seconds: float = 60.0) -> T:
    """The first true answer; fails the test when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {seconds:g} s; at the end: {answer!r}")
        time.sleep(0.05)
