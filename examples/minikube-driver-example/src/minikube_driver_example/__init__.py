"""The example driver as minikube knows it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

from minikube.drivers.definition import EXPERIMENTAL, Definition
from minikube.drivers.values import DriverStatus
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.settings import Flag, Settings


def status() -> DriverStatus:
    """Whether it can work here. Quick, and without changing anything."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return DriverStatus(installed=False, healthy=False, reason="there is no unshare(1)", fix="Install util-linux.")
    if os.geteuid() != 0:
        return DriverStatus(healthy=False, reason="making namespaces needs root rights", fix="Use sudo.", id="DRV_NEEDS_ROOT")
    return DriverStatus(version="1.0")


def flags() -> tuple[Flag, ...]:
    """Flags that `minikube start --driver=example` has besides its own."""
    return (Flag("example-motd", default="", help="What people read when they enter the node (example)."),)


def configure(_config: ClusterConfig, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
    """What this driver wants to remember of this start. A flag that is not given again keeps its value."""
    if settings.changed("example-motd") or "motd" not in before:
        return {"motd": settings.get("example-motd")}
    return dict(before)


def make(machine: str, own: Mapping[str, Any]) -> Any:
    from minikube_driver_example.driver import ExampleDriver

    return ExampleDriver(machine, own)


DEFINITION = Definition(
    "example",
    aliases=("unshare",),
    summary="namespaces made with unshare(1), to learn from",
    systems=("linux",),
    priority=EXPERIMENTAL,
    status=status,
    flags=flags,
    configure=configure,
    make=make,
)
