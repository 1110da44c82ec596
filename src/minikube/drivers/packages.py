"""Drivers that installed Python packages bring along, by entry points of the group `minikube.drivers`.

    [project.entry-points."minikube.drivers"]
    example = "minikube_driver_example:DEFINITION"

Looking for entry points reads the metadata of every installed package, so nobody comes here for a driver that is built in.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

from minikube.drivers.definition import EVERYWHERE, Definition
from minikube.drivers.values import DriverStatus
from minikube.output.debuglog import debug
from minikube.output.reason import Reason

GROUP = "minikube.drivers"


def find(name: str) -> Definition | None:
    """The driver of that name. An alias is only known to the package itself, so that they are loaded until one says it is its own."""
    entries = entry_points(group=GROUP)
    for entry in entries:
        if entry.name == name:
            return _load(entry)
    return next((found for found in map(_load, entries) if name in found.aliases), None)


def every() -> list[Definition]:
    return [_load(entry) for entry in entry_points(group=GROUP)]


def _load(entry: EntryPoint) -> Definition:
    """The definition behind an entry point; whatever is wrong with it becomes a driver that says so."""
    origin = f"package {entry.dist.name}" if entry.dist else "package"
    try:
        found = entry.load()
        if not isinstance(found, Definition):
            raise TypeError(f"{entry.value} is a {type(found).__name__}, not a minikube.drivers.definition.Definition")
        if found.name != entry.name:
            raise ValueError(f"{entry.value} calls itself {found.name!r}, its entry point {entry.name!r}")
    except Exception as error:  # somebody else's code: it may fail in any way
        debug(f"driver {entry.name}: {type(error).__name__}: {error}")
        return _broken(entry.name, origin, f"{type(error).__name__}: {error}")
    found.origin = origin
    return found


def _broken(name: str, origin: str, why: str) -> Definition:
    reason = f"the {origin} cannot be loaded: {why}"
    fix = f"Mend or uninstall the {origin}."

    def refuse(_machine: str, _own: Mapping[str, Any]) -> NoReturn:
        raise Reason("DRV_AUX_NOT_HEALTHY", f"The driver '{name}' cannot be used: {reason}", advice=fix)

    def status() -> DriverStatus:
        return DriverStatus(healthy=False, reason=reason, fix=fix)

    return Definition(name, summary="cannot be loaded", make=refuse, status=status, systems=EVERYWHERE, origin=origin)
