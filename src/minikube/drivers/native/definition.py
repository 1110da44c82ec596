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
    from minikube.profiles.clusterconfig import ClusterConfig
    from minikube.profiles.settings import Settings


def _make(machine: str, own: Mapping[str, Any]) -> Driver:
    from minikube.drivers.native.driver import NativeDriver

    return NativeDriver(machine, user_namespace=own.get("UserNamespace", True))


def _configure(_config: ClusterConfig, settings: Settings, before: Mapping[str, Any]) -> dict[str, Any]:
    return {"UserNamespace": kept_choice(settings, before)}


def kept_choice(settings: Settings, before: Mapping[str, Any]) -> bool:
    """Whether the machine is to have a user namespace: what was said once holds until something else is said."""
    if "UserNamespace" in before and not settings.changed("user-namespace"):
        return bool(before["UserNamespace"])
    return bool(settings.get("user-namespace"))


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
    configure=_configure,
    only_start_configures=True,
    questions=_questions,
    origin=BUILT_IN,
)
