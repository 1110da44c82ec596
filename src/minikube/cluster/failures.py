"""Failures that waiting does not mend: what a node's supervisor and its container runtime know before anybody else does."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from math import inf
from typing import Any

from minikube.drivers.base import Node
from minikube.kubernetes.crashes import is_passing, shortened
from minikube.output.debuglog import debug
from minikube.output.reason import Reason

TIMES = 3  # in a row, with the same exit code
SECONDS = 5.0  # since the first of them: on a busy machine, what a service needs may come a little later
_RUNTIMES = ("containerd",)
_SYSTEM_CONTAINERS = ["crictl", "ps", "-a", "-o", "json", "--label", "io.kubernetes.pod.namespace=kube-system"]


def of_services(services: Mapping[str, Mapping[str, Any]]) -> Reason | None:
    """Of a service that ends the same way again and again."""
    for name, service in services.items():
        alike, failing, words = service.get("alike") or 0, service.get("failing") or 0, str(service.get("words", ""))
        given_up = service["state"] in ("backoff", "failed") and alike >= TIMES and failing >= SECONDS
        if given_up and not is_passing(words):
            id = "K8S_INSTALL_FAILED_CONTAINER_RUNTIME_NOT_RUNNING" if name in _RUNTIMES else "K8S_INSTALL_FAILED"
            return _reason(id, f"{name} failed {alike} times with exit code {service.get('last_exit')}", words)
    return None


class Containers:
    """Those of the control plane, asked of the runtime as long as there is no API server. Only what this boot has made counts."""

    def __init__(self, node: Node, *, fresh: bool) -> None:
        """In a fresh cluster, attempts are counted from 0; else from the first that is seen: older ones may be gone already."""
        self._node = node
        self._first: defaultdict[str, float] = defaultdict(lambda: 0 if fresh else inf)

    def failure(self) -> Reason | None:
        """Of one that has ended three times."""
        try:
            began = float(self._node.services()["containerd"]["since"])
            found = json.loads(self._node.run(_SYSTEM_CONTAINERS, timeout=10).stdout or b"{}").get("containers") or []
            for pod, container in _latest(found, since=began).items():
                name, attempt = container["metadata"]["name"], container["metadata"]["attempt"]
                self._first[pod] = min(self._first[pod], attempt)
                times = attempt - int(self._first[pod]) + 1
                if container["state"] == "CONTAINER_EXITED" and times >= TIMES:
                    words = self._node.run(["crictl", "logs", "--tail", "20", container["id"]], timeout=10)
                    text = (words.stdout + words.stderr).decode(errors="replace")
                    if not is_passing(text):
                        return _reason("K8S_INSTALL_FAILED", f"{name} failed {times} times", text)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, TimeoutError, OSError) as error:
            debug(f"the containers of the node are not known: {error!r}")
        return None


def _latest(containers: list[dict[str, Any]], *, since: float) -> dict[str, dict[str, Any]]:
    """The last attempt of each that was made after that moment (unix time, of the node)."""
    latest: dict[str, dict[str, Any]] = {}
    for container in sorted(containers, key=lambda one: int(one["metadata"].setdefault("attempt", 0))):
        if int(container["createdAt"]) / 1e9 >= since:
            latest[container["labels"]["io.kubernetes.pod.name"]] = container
    return latest


def _reason(id: str, what: str, words: str) -> Reason:
    reason = Reason(id, f"{what}: {shortened(words)}", advice="See all that it said with: minikube logs")
    reason.evidence = words
    return reason
