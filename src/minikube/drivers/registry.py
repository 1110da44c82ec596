"""Which drivers there are, under which names: built in, from installed packages, and programs on this machine.

A profile whose driver is built in is answered without looking at anything else: `status` and `ip` stand on this module.
"""

from __future__ import annotations

from importlib import import_module

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from minikube.drivers.base import Driver
    from minikube.drivers.definition import Definition

# The module of each has its DEFINITION; only that of the driver in use is imported.
BUILT_IN = {"none": "minikube.drivers.native.definition", "ssh": "minikube.drivers.ssh.definition"}
ALIASES = {"native": "none", "generic": "ssh"}
# Where other drivers come from, asked in this order: modules with `find(name) -> Definition | None` and `every() -> list[Definition]`.
FINDERS = ("minikube.drivers.packages", "minikube.drivers.plugin.discovery")
# Upstream's drivers that are not here, and where upstream has them: the answer can be more than "unknown".
UPSTREAM = {
    **dict.fromkeys(("docker", "podman", "kvm2", "kvm", "qemu2", "qemu", "virtualbox", "vmware"), "linux"),
    **dict.fromkeys(("hyperkit", "parallels", "vfkit", "krunkit"), "darwin"),
    "hyperv": "windows",
}


def definition(name: str) -> Definition:
    """The driver of that name or alias; DRV_UNSUPPORTED if nobody provides it."""
    found = _built_in(ALIASES.get(name, name))
    for finder in () if found else FINDERS:
        found = found or import_module(finder).find(name)
    if found is None:
        raise unsupported(name)
    return found


def every() -> list[Definition]:
    """All drivers of this machine, the built-in ones first. Of several with one name, the first counts, as in `definition`."""
    found = [built_in for name in BUILT_IN if (built_in := _built_in(name))]
    for finder in FINDERS:
        names = {*ALIASES, *(name for known in found for name in (known.name, *known.aliases))}
        found += [other for other in import_module(finder).every() if other.name not in names]
    return found


def of_machine(name: str, machine: str) -> Definition:
    """The driver that a machine was made with; DRV_NOT_FOUND where what provided it is no longer here."""
    try:
        return definition(name)
    except Reason as reason:
        raise Reason(
            "DRV_NOT_FOUND",
            f"The driver '{name}' of the machine '{machine}' is not here any more: only it can look after that machine",
            advice="Install again what provided the driver (a Python package, or a docker-machine-driver program on the PATH), "
            "then run the same command.",
        ) from reason


def driver_for(name: str, machine: str) -> Driver:
    """The driver of a machine that was made before, with the configuration that was kept for it."""
    found = of_machine(name, machine)
    if found.only_start_configures or not found.keeps_configuration:
        return found.make(machine, {})
    from minikube.drivers import machinefile

    return found.make(machine, machinefile.load(machine))


def unsupported(name: str) -> Reason:
    """The answer to a name that nobody provides."""
    from minikube.host.system import architecture

    elsewhere = UPSTREAM.get(name, "")
    advice = "Use the native driver: minikube start --driver=native. `minikube drivers` lists what there is."
    if elsewhere not in ("", "linux"):
        return Reason("DRV_UNSUPPORTED_OS", f"The driver '{name}' is not supported on linux/{architecture()}", advice=advice)
    if elsewhere:
        advice += f" A Python package (docs/how-to/write-a-driver.md) or a program docker-machine-driver-{name} can add it."
        return Reason("DRV_UNSUPPORTED", f"The driver '{name}' is not part of this minikube", advice=advice)
    return Reason("DRV_UNSUPPORTED", f"The driver '{name}' is not supported on linux/{architecture()}", advice=advice)


def _built_in(name: str) -> Definition | None:
    if name not in BUILT_IN:
        return None
    found: Definition = import_module(BUILT_IN[name]).DEFINITION
    return found
