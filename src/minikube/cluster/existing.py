"""A cluster that was started before: its configuration and its driver, or the answer upstream gives where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minikube.output import notready
from minikube.profiles import profile as profiles

if TYPE_CHECKING:
    from minikube.drivers.base import Driver, Node
    from minikube.profiles.clusterconfig import ClusterConfig


class Existing(NamedTuple):
    config: ClusterConfig
    driver: Driver


def find(profile: str) -> Existing | None:
    """The profile's cluster, or None if it was never started."""
    from minikube.drivers.registry import driver_for

    config = profiles.load(profile)
    if config is None:
        return None
    return Existing(config, driver_for(config.Driver, profiles.machine_name(profile)))


def require(profile: str) -> Existing:
    """The profile's cluster; exit code 85 without one."""
    found = find(profile)
    if found is None:
        raise notready.profile_not_found(profile)
    return found


def require_running(profile: str) -> tuple[Existing, Node]:
    """The profile's cluster and its running node; exit code 83 if it is stopped."""
    found = require(profile)
    state = found.driver.state()
    if state == "Nonexistent":
        raise notready.host_not_found(profile)
    if state != "Running":
        raise notready.host_not_running(profile, state)
    return found, found.driver.node()
