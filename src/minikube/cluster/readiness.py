"""Waiting for a node's API server, its system pods and its DNS: until all is well, or until it is clear that it will not be."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

from minikube.cluster import failures
from minikube.drivers.base import Driver, Node
from minikube.kubernetes import health
from minikube.kubernetes.api import Api
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.node import askdns
from minikube.output.reason import Reason

LOOK_SECONDS = 1.0  # between looks at the node itself: waiting for the API of one that has ended would be waiting for nothing
# When an API server takes longer than any that comes, its containers are looked at. That takes CPU, which those that come need.
LATE_SECONDS, LOOK_AT_CONTAINERS_SECONDS = 10.0, 3.0
DNS_PATIENCE_SECONDS = 15


def wait_for_api(api: Api, driver: Driver, node: Node, *, deadline: float, fresh: bool) -> None:
    """Answers come before every post-start hook has run; an administrator may already create objects then."""
    containers = failures.Containers(node, fresh=fresh)
    look_at_containers = time.monotonic() + LATE_SECONDS
    while not api.wait_ready("/livez/ping", deadline=min(deadline, time.monotonic() + LOOK_SECONDS)):
        if driver.state() != "Running":
            raise Reason("GUEST_STATUS", "the node ended before its API server came up", advice="Run `minikube start` again.")
        look_at_services(node)
        if time.monotonic() >= look_at_containers:
            look_at_containers = time.monotonic() + LOOK_AT_CONTAINERS_SECONDS
            if failure := containers.failure():
                raise failure
        if time.monotonic() >= deadline:
            states = "; ".join(f"{name} is {service['state']}" for name, service in node.services().items())
            raise Reason("K8S_INSTALL_FAILED", f"the API server did not come up: {states}", advice="minikube logs")


def wait_for_pods(api: Api, node: Node, spec: ClusterSpec, *, deadline: float, booted: float, apps: Mapping[str, tuple[str, str]]) -> None:
    """All of kube-system are Ready, and DNS answers: the rules that lead to a pod come a moment after it is Ready.

    Looked at once more at the end: a container without a readiness probe may have ended a moment after it was called ready.
    """
    for attempt in (1, 2):
        names = Names(node, spec)
        health.wait_pods_ready(
            api,
            deadline=deadline,
            node_name=node.name,
            started_after=booted,
            apps=apps,
            told=names.told,
            look=lambda: look_at_services(node),
        )
        if names.answer() and not health.unready(api):
            return
        if attempt == 1:
            continue
        raise Reason(
            "GUEST_START",
            f"the cluster's DNS ({spec.dns_ip}) does not answer" if not names.answer() else f"not Ready: {health.unready(api)}",
            advice="See what CoreDNS and kube-proxy say with: minikube logs",
        )


def look_at_services(node: Node) -> None:
    if failure := failures.of_services(node.services()):
        raise failure


class Names:
    """Asks the cluster's DNS, from the node, as soon as what it needs is Ready."""

    def __init__(self, node: Node, spec: ClusterSpec) -> None:
        self._node, self._spec = node, spec
        self._asking = Thread(target=self._ask, daemon=True)
        self._answered = False

    def told(self, unready: list[health.Pod]) -> None:
        waiting = {pod["metadata"].get("labels", {}).get("k8s-app") for pod in unready}
        if not self._asking.ident and not waiting & {"kube-dns", "kube-proxy"}:
            self._asking.start()

    def answer(self) -> bool:
        """Whether there was one, in the end."""
        if self._asking.ident:
            self._asking.join()
        return self._answered

    def _ask(self) -> None:
        name, program = f"kubernetes.default.svc.{self._spec.dns_domain}", Path(askdns.__file__).read_text()
        argv = ["python3", "-I", "-S", "-c", program, self._spec.dns_ip, name, str(DNS_PATIENCE_SECONDS)]
        try:
            self._answered = self._node.run(argv, timeout=4 * DNS_PATIENCE_SECONDS).code == 0
        except (Reason, OSError):
            self._answered = False
