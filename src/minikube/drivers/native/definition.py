"""The native driver as the registry knows it."""

from __future__ import annotations

from minikube.drivers.definition import BUILT_IN, HIGHLY_PREFERRED, Definition

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from minikube.drivers.base import Driver
    from minikube.drivers.checks import Question
    from minikube.drivers.values import DriverStatus


def _make(machine: str, _own: Mapping[str, Any]) -> Driver:
    from minikube.drivers.native.driver import NativeDriver

    return NativeDriver(machine)


def _status() -> DriverStatus:
    """What the kernel must have; `start` asks the rest as well, and says all that is missing at once."""
    from minikube import __version__
    from minikube.drivers import checks
    from minikube.drivers.native.checks import KERNEL
    from minikube.drivers.values import DriverStatus

    asked = (question for question in _questions() if question.group == KERNEL and question.required and question.quick)
    for check in checks.ask(asked, checks.ground()):
        if check.in_the_way:
            why = f"{check.title}: {check.detail}"
            return DriverStatus(healthy=False, reason=why, fix=check.fix, version=__version__, id=check.reason)
    return DriverStatus(version=__version__)


def _questions() -> Sequence[Question]:
    from minikube.drivers.native.checks import QUESTIONS

    return QUESTIONS


DEFINITION = Definition(
    "none",
    title="native",
    aliases=("native",),
    summary="Kubernetes in namespaces of this host, without a VM or a container engine",
    priority=HIGHLY_PREFERRED,
    make=_make,
    status=_status,
    questions=_questions,
    origin=BUILT_IN,
)
