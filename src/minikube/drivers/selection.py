"""Which driver a new cluster gets when nobody says, and whether one that somebody names can work."""

from __future__ import annotations

import re
from typing import NamedTuple

from minikube.drivers import registry
from minikube.drivers.definition import FALLBACK, Definition
from minikube.drivers.health import SECONDS, status_of, statuses
from minikube.drivers.values import DriverStatus
from minikube.output.reason import Reason

NOT_FOUND, NOT_HEALTHY = 65, 69


class Choice(NamedTuple):
    """The best driver that works here, and the others that do."""

    definition: Definition
    alternatives: list[Definition]


def best(*, seconds: float = SECONDS) -> Choice:
    """Of the drivers that are healthy and meant to be chosen by themselves, the one with the highest priority."""
    found = registry.every()
    answers = list(zip(found, statuses(found, seconds=seconds), strict=True))
    working = [definition for definition, status in answers if status.installed and status.healthy]
    candidates = sorted((definition for definition in working if definition.priority >= FALLBACK), key=lambda found: -found.priority)
    if not candidates:
        raise _nothing_works(answers)
    return Choice(candidates[0], [definition for definition in working if definition is not candidates[0]])


def require_working(definition: Definition, *, seconds: float = SECONDS) -> None:
    """Refuse a driver that cannot work, with why and how to mend it."""
    status = status_of(definition, seconds=seconds)
    if not (status.installed and status.healthy):
        raise refusal(definition, status)


def refusal(definition: Definition, status: DriverStatus) -> Reason:
    """Why this driver cannot be used, as upstream ends then: PROVIDER_<DRIVER>_NOT_FOUND or PROVIDER_<DRIVER>_ERROR."""
    advice = status.fix or "Use another driver: `minikube drivers` lists them all."
    name = re.sub(r"[^A-Z0-9]", "_", definition.title.upper())
    if status.id:
        return Reason(status.id, f"The {definition.title} driver cannot work here: {status.reason}", advice=advice, url=status.doc)
    if not status.installed:
        message = f"The '{definition.title}' provider was not found: {status.reason}"
        return Reason(f"PROVIDER_{name}_NOT_FOUND", message, advice=advice, url=status.doc, exit_code=NOT_FOUND)
    message = f"The '{definition.title}' driver is not healthy: {status.reason}"
    return Reason(f"PROVIDER_{name}_ERROR", message, advice=advice, url=status.doc, exit_code=NOT_HEALTHY)


def _nothing_works(answers: list[tuple[Definition, DriverStatus]]) -> Reason:
    wanted = [(definition, status) for definition, status in answers if definition.priority >= FALLBACK]
    installed = [(definition, status) for definition, status in wanted if status.installed]
    if len(installed) == 1:
        return refusal(*installed[0])
    rejected = "; ".join(f"{definition.title}: {status.reason}" for definition, status in installed or wanted)
    if installed:
        fixes = " ".join(dict.fromkeys(status.fix for _, status in installed if status.fix))
        return Reason("DRV_NOT_HEALTHY", f"Found drivers, but none of them is healthy: {rejected}", advice=fixes)
    advice = "Name one with --driver; `minikube drivers` lists them."
    return Reason("DRV_NOT_DETECTED", f"No possible driver was detected: {rejected}", advice=advice)
