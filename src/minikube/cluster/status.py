"""What state a cluster is in, found out without changing anything and quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minikube.cluster import existing
from minikube.output import notready
from minikube.output.reason import Reason

if TYPE_CHECKING:
    from minikube.drivers.base import Driver
    from minikube.profiles.clusterconfig import ClusterConfig


class NodeStatus(NamedTuple):
    """Upstream's fields, under upstream's names: they are its JSON keys and its templates' words."""

    Name: str
    Host: str
    Kubelet: str
    APIServer: str
    Kubeconfig: str
    Worker: bool = False
    TimeToStop: str = ""
    DockerEnv: str = ""
    PodManEnv: str = ""


def status(profile: str, node: str | None = None) -> list[NodeStatus]:
    """The state of each node; exit code 85 for a profile that is not there."""
    found = existing.require(profile)
    state = found.driver.state()
    if node and node not in (profile, "m01"):
        raise Reason("GUEST_NODE_RETRIEVE", f'The node "{node}" does not exist in the cluster "{profile}".', advice="minikube node list")
    if state == "Nonexistent":
        return [NodeStatus(profile, state, state, state, state)]
    kubelet, apiserver = _components(found.config, found.driver, state)
    return [NodeStatus(profile, "Running" if state == "Paused" else state, kubelet, apiserver, _kubeconfig(profile, found.config, state))]


def require_apiserver(profile: str) -> None:
    """Exit code 103 unless the API server answers."""
    apiserver = status(profile)[0].APIServer
    if apiserver == "Paused":
        raise notready.apiserver_paused(profile)
    if apiserver != "Running":
        raise notready.apiserver_not_running(profile, apiserver)


def _components(config: ClusterConfig, driver: Driver, state: str) -> tuple[str, str]:
    """Kubelet and API server: the supervisor knows the one, the other is asked itself."""
    if state == "Paused":
        return "Stopped", "Paused"
    if state != "Running":
        return "Stopped", "Stopped"
    from minikube.kubernetes.healthz import is_healthy

    node = driver.node()
    service = node.services().get("kubelet", {})
    kubelet = "Running" if service.get("state") in ("running", "ready") else "Stopped"
    return kubelet, "Running" if is_healthy(config.Name, node.address, config.APIServerPort) else "Stopped"


def _kubeconfig(profile: str, config: ClusterConfig, state: str) -> str:
    if state == "Stopped":
        return "Stopped"
    from minikube.kubernetes import kubeconfig

    address = config.Nodes[0].IP if config.Nodes else ""
    return kubeconfig.state(profile, f"https://{address}:{config.APIServerPort}")
