"""The ssh driver as the registry knows it."""

from __future__ import annotations

from minikube.drivers.definition import BUILT_IN, DISCOURAGED, Definition

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from minikube.drivers.base import Driver
    from minikube.drivers.values import DriverStatus
    from minikube.profiles.clusterconfig import ClusterConfig
    from minikube.profiles.settings import Settings

FLAGS = {"ssh-ip-address": "IPAddress", "ssh-user": "SSHUser", "ssh-port": "SSHPort", "ssh-key": "SSHKeyPath"}


def _make(machine: str, own: Mapping[str, Any]) -> Driver:
    from minikube.drivers.native.definition import access
    from minikube.drivers.ssh.driver import SshDriver
    from minikube.drivers.ssh.target import Target

    return SshDriver(machine, Target.kept(own), user_namespace=own.get("UserNamespace", True), access=access(own))


def _configure(config: ClusterConfig, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
    """A machine keeps its address; how to log in there may change."""
    from pathlib import Path

    from minikube.drivers.native.definition import kept_access, kept_choice
    from minikube.drivers.ssh.target import Target
    from minikube.output.reason import Reason

    own = dict(before)
    for flag, key in FLAGS.items():
        if key not in before or settings.changed(flag):
            own[key] = settings.get(flag)
    if own["SSHKeyPath"]:
        own["SSHKeyPath"] = str(Path(own["SSHKeyPath"]).expanduser().absolute())
    if before and before["IPAddress"] != own["IPAddress"]:
        raise Reason(
            "GUEST_DRIVER_MISMATCH",
            f'The cluster "{config.Name}" is on {before["IPAddress"]} and cannot move to {own["IPAddress"]}',
            advice=f"Leave out --ssh-ip-address, delete the cluster (minikube delete -p {config.Name}), or use another profile.",
        )
    target = Target.kept(own)
    target.require_usable()
    config.SSHIPAddress, config.SSHUser, config.SSHPort, config.SSHKey = target.address, target.user, target.port, target.key
    return target.to_keep() | {"UserNamespace": kept_choice(settings, before)} | kept_access(config, settings, before)


def _status() -> DriverStatus:
    import shutil

    from minikube.drivers.values import DriverStatus
    from minikube.host.process import run

    if not shutil.which("ssh"):
        fix = "Install OpenSSH's client (Debian and Ubuntu: apt-get install openssh-client)."
        return DriverStatus(installed=False, healthy=False, reason="ssh is not on the PATH", fix=fix)
    return DriverStatus(version=run(["ssh", "-V"], timeout=5, check=False).error_text.split(",")[0])


DEFINITION = Definition(
    "ssh",
    aliases=("generic",),
    summary="Kubernetes on a Linux machine that you reach over SSH",
    priority=DISCOURAGED,
    make=_make,
    status=_status,
    configure=_configure,
    origin=BUILT_IN,
)
