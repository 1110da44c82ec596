"""Facts about a cluster's nodes."""

from __future__ import annotations

from minikube.cluster import existing
from minikube.output.reason import Reason


def address(profile: str, node: str = "") -> str:
    """The node's address, as its configuration has it; no driver is asked."""
    found = existing.facts(profile)
    if node in ("", profile):
        return found.address
    raise Reason("GUEST_NODE_RETRIEVE", f'The node "{node}" does not exist in the cluster "{profile}".', advice="minikube node list")
