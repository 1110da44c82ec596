"""A cluster that was started before: its facts and its driver, or the answer upstream gives where there is none.

Quick commands stand on this module: nothing heavy may be imported here.
"""

from __future__ import annotations

from minikube.profiles.glance import Glance, glance

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from minikube.drivers.base import Driver, Node


def facts(profile: str) -> Glance:
    """The profile's facts; exit code 85 if there is no such profile."""
    found = glance(profile)
    if found is None:
        from minikube.output import notready

        raise notready.profile_not_found(profile)
    return found


def driver(found: Glance) -> Driver:
    """The driver of the profile's machine."""
    from minikube.drivers.registry import driver_for

    return driver_for(found.driver, found.name)


def require_node(profile: str, node: str) -> None:
    """Refuse a node that the cluster does not have; no name means the first."""
    if node not in ("", profile):
        from minikube.output.reason import Reason

        raise Reason("GUEST_NODE_RETRIEVE", f'The node "{node}" does not exist in the cluster "{profile}".', advice="minikube node list")


def running_node(profile: str, node: str = "") -> Node:
    """The profile's node; exit code 83 if it does not run."""
    from minikube.output import notready

    found = facts(profile)
    require_node(profile, node)
    machine = driver(found)
    state = machine.state()
    if state == "Nonexistent":
        raise notready.host_not_found(profile)
    if state != "Running":
        raise notready.host_not_running(profile, state)
    return machine.node()


def serving_node(profile: str) -> Node:
    """The profile's node for what asks its API server; exit code 103 if that is paused: it would never answer."""
    from minikube.cluster.pausing import is_paused
    from minikube.output import notready

    node = running_node(profile)
    if is_paused(node):
        raise notready.apiserver_paused(profile)
    return node
