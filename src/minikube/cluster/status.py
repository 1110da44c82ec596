"""What state a cluster is in, found out without changing anything and quickly."""

from __future__ import annotations

from minikube.cluster import existing

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from minikube.drivers.base import Driver
    from minikube.profiles.glance import Glance


class NodeStatus:
    """Upstream's fields, under upstream's names: they are its JSON keys and its templates' words."""

    def __init__(
        self,
        Name: str,
        Host: str,
        Kubelet: str,
        APIServer: str,
        Kubeconfig: str,
        *,
        Worker: bool = False,
        TimeToStop: str = "",
        DockerEnv: str = "",
        PodManEnv: str = "",
    ) -> None:
        self.Name, self.Host, self.Kubelet, self.APIServer, self.Kubeconfig = Name, Host, Kubelet, APIServer, Kubeconfig
        self.Worker, self.TimeToStop, self.DockerEnv, self.PodManEnv = Worker, TimeToStop, DockerEnv, PodManEnv


def status(profile: str, node: str | None = None) -> list[NodeStatus]:
    """The state of each node; exit code 85 for a profile that is not there."""
    found = existing.facts(profile)
    existing.require_node(profile, node or "")
    machine = existing.driver(found)
    state = machine.state()
    if state == "Nonexistent":
        return [NodeStatus(profile, state, state, state, state)]
    endpoint = (found.address, found.port) if state == "Stopped" else machine.node().forward(found.port)
    kubelet, apiserver = _components(found, machine, state, endpoint)
    host = "Running" if state == "Paused" else state
    found_status = NodeStatus(profile, host, kubelet, apiserver, _kubeconfig(found, state, endpoint))
    if host == "Running":
        _add_circumstances(found_status, found)
    return [found_status]


def _add_circumstances(status: NodeStatus, found: Glance) -> None:
    """What else a person wants to know of a running cluster: that it will be stopped, and what the shell is pointed at."""
    import os

    if found.stops_at:
        import time

        from minikube.profiles.values import format_duration

        status.TimeToStop = format_duration(found.stops_at - time.time_ns())
    status.DockerEnv = "in-use" if os.environ.get("MINIKUBE_ACTIVE_DOCKERD") else ""
    status.PodManEnv = "in-use" if os.environ.get("MINIKUBE_ACTIVE_PODMAN") else ""


def _components(found: Glance, machine: Driver, state: str, endpoint: tuple[str, int]) -> tuple[str, str]:
    """Kubelet and API server: the supervisor knows the one, the other is asked itself."""
    if state == "Paused":
        return "Stopped", "Paused"
    if state != "Running":
        return "Stopped", "Stopped"
    from minikube.kubernetes.healthz import is_healthy

    node = machine.node()
    service = node.services().get("kubelet", {})
    kubelet = "Running" if service.get("state") in ("running", "ready") else "Stopped"
    if service.get("state") == "stopped":
        from minikube.cluster.pausing import is_paused

        if is_paused(node):
            return "Stopped", "Paused"
    return kubelet, "Running" if is_healthy(found.name, *endpoint) else "Stopped"


def _kubeconfig(found: Glance, state: str, endpoint: tuple[str, int]) -> str:
    if state == "Stopped":
        return "Stopped"
    from minikube.kubernetes import kubeconfigglance

    server = f"https://{endpoint[0]}:{endpoint[1]}"
    return "Configured" if kubeconfigglance.endpoint(found.name) == server else "Misconfigured"
