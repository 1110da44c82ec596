"""Whether the kubelet has asked its pods how they are: it counts its own questions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from minikube.kubernetes.api import Api, ApiError

_COUNT = re.compile(r"^prober_probe_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def unasked(api: Api, node_name: str, pods: Iterable[dict[str, Any]]) -> str:
    """Which pods with a readiness probe have not given the kubelet a good answer yet; empty if all have, or if it does not say."""
    try:
        counts = api.text(f"/api/v1/nodes/{node_name}/proxy/metrics/probes")
    except ApiError:
        return ""
    good = set()
    for labels, count in _COUNT.findall(counts):
        about = dict(_LABEL.findall(labels))
        if (about.get("probe_type"), about.get("result")) == ("Readiness", "successful") and float(count):
            good.add((about.get("namespace"), about.get("pod"), about.get("container")))
    waiting = [
        f"pod {pod['metadata']['name']}: the kubelet has not heard yet that {container['name']} is ready"
        for pod in pods
        for container in pod["spec"]["containers"]
        if container.get("readinessProbe") and (pod["metadata"]["namespace"], pod["metadata"]["name"], container["name"]) not in good
    ]
    return "; ".join(waiting)
