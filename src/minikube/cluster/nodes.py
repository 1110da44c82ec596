"""Facts about a cluster's nodes."""

from __future__ import annotations

from minikube.cluster import existing


def address(profile: str, node: str = "") -> str:
    """The node's address, as its configuration has it; no driver is asked."""
    found = existing.facts(profile)
    existing.require_node(profile, node)
    return found.address


def listing(profile: str) -> list[tuple[str, str]]:
    """Name and address of every node."""
    found = existing.facts(profile)
    return [(found.name, found.address)]
