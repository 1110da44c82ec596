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
    import os

    from minikube import __version__
    from minikube.drivers.values import DriverStatus

    if os.geteuid() != 0:
        return DriverStatus(
            healthy=False,
            reason="it makes namespaces and a network bridge, which needs root rights",
            fix="Run the same command with sudo: sudo -E minikube start",
            version=__version__,
            id="DRV_NEEDS_ROOT",
        )
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
