"""Which drivers there are, under which names."""

from __future__ import annotations

from minikube.drivers.base import Driver
from minikube.output.reason import Reason

NATIVE_NAMES = ("none", "native")
# Upstream's other drivers: known names, so that the answer can be more than "unknown".
NOT_BUILT = (
    "docker",
    "podman",
    "kvm2",
    "kvm",
    "qemu2",
    "qemu",
    "ssh",
    "generic",
    "virtualbox",
    "vmware",
    "hyperkit",
    "hyperv",
    "parallels",
    "vfkit",
    "krunkit",
)


def canonical_name(name: str) -> str:
    """The name a profile stores for what the user typed; no name means the best driver there is, the native one."""
    if name in ("", *NATIVE_NAMES):
        return "none"
    if name in NOT_BUILT:
        raise Reason(
            "MK_UNIMPLEMENTED",
            f"The driver '{name}' is not built yet",
            advice="Use the native driver: minikube start --driver=native",
            exit_code=16,
        )
    raise Reason(
        "DRV_UNSUPPORTED", f"The driver '{name}' is not supported on linux", advice="Use the native driver: minikube start --driver=native"
    )


def driver_for(name: str, machine: str) -> Driver:
    """The driver of an existing or a new machine."""
    if name in NATIVE_NAMES:
        from minikube.drivers.native.driver import NativeDriver

        return NativeDriver(machine)
    raise Reason("DRV_UNSUPPORTED", f"The driver '{name}' of this profile is not known to this version of minikube")
