"""A plugin as the registry knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minikube.drivers.base import Driver
from minikube.drivers.definition import EVERYWHERE, EXPERIMENTAL, Definition
from minikube.drivers.values import DriverStatus
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.settings import Flag, Settings

_STATUS_SECONDS = 8.0  # less than a status check may take in all


def plugin_definition(name: str, binary: Path) -> Definition:
    """The driver that this program is."""

    def make(machine: str, own: Mapping[str, Any]) -> Driver:
        from minikube.drivers.plugin.driver import PluginDriver

        return PluginDriver(name, binary, machine, own)

    def configure(config: ClusterConfig, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
        from minikube.drivers.plugin.configuration import configure
        from minikube.profiles.profile import machine_name

        return configure(name, binary, machine_name(config.Name), settings, before)

    def status() -> DriverStatus:
        return _status(name, binary)

    def flags() -> Sequence[Flag]:
        from minikube.drivers.plugin.client import running_plugin
        from minikube.drivers.plugin.explain import explained
        from minikube.drivers.plugin.flags import as_flags

        with explained(name, "DRV_NOT_HEALTHY", "does not tell its flags"), running_plugin(name, binary) as plugin:
            return as_flags(name, plugin.create_flags())

    return Definition(
        name,
        summary="a machine made by a docker-machine driver plugin",
        priority=EXPERIMENTAL,  # nobody wants a machine in some cloud because a program is on the PATH
        systems=EVERYWHERE,
        make=make,
        status=status,
        configure=configure,
        flags=flags,
        origin=f"program {binary}",
    )


def _status(name: str, binary: Path) -> DriverStatus:
    import shutil

    from minikube.drivers.plugin.client import API_VERSION, WrongVersion, running_plugin
    from minikube.drivers.plugin.process import PluginBroken

    if not shutil.which("ssh"):
        fix = "Install OpenSSH's client (Debian and Ubuntu: apt-get install openssh-client)."
        return DriverStatus(healthy=False, reason="machines of plugins are used over SSH, and ssh is not on the PATH", fix=fix)
    try:
        with running_plugin(name, binary, address_within=_STATUS_SECONDS):
            return DriverStatus(version=f"API {API_VERSION}")
    except WrongVersion as error:
        fix = f"Install a {binary.name} that speaks API version {API_VERSION} of docker-machine."
        return DriverStatus(healthy=False, reason=str(error), fix=fix, version=f"API {error.version}", id="DRV_UNSUPPORTED")
    except PluginBroken as error:
        fix = f"Run {binary} by hand to see what is wrong with it, install it again, or remove it."
        return DriverStatus(healthy=False, reason=str(error), fix=fix)
