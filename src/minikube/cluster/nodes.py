"""Facts about a cluster's nodes."""

from __future__ import annotations

from minikube.cluster import existing


def address(profile: str, node: str = "") -> str:
    """The address of a node that runs."""
    return existing.running_node(profile, node).address


def listing(profile: str) -> list[tuple[str, str]]:
    """Name and address of every node."""
    found = existing.facts(profile)
    return [(found.name, found.address)]
