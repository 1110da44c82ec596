"""A private subnet that nothing on this host uses: no interface, no route, VPNs included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, ip_network

from minikube.network.routes import WIDEST
from minikube.network.tools import NetworkTools
from minikube.output.reason import Reason


def candidates() -> Iterator[IPv4Network]:
    """Upstream's range first (people have it in their NO_PROXY), then others that home and office networks rarely use."""
    for third in range(49, 256, 9):
        yield IPv4Network(f"192.168.{third}.0/24")
    for third in range(1, 255):
        yield IPv4Network(f"10.249.{third}.0/24")


def in_use(tools: NetworkTools) -> set[IPv4Network]:
    """Every IPv4 network that an interface or a route of any table of this host names, default routes aside."""
    found: set[IPv4Network] = set()
    for route in tools.query("-4", "route", "show", "table", "all"):
        destination = str(route.get("dst", "default"))
        if destination != "default":
            network = ip_network(destination, strict=False)
            if isinstance(network, IPv4Network) and network.prefixlen >= WIDEST:
                found.add(network)
    return found


def is_taken(tools: NetworkTools, subnet: str) -> bool:
    """Whether somebody else on this host uses addresses of a subnet."""
    return any(network.overlaps(IPv4Network(subnet)) for network in in_use(tools))


def choose(tools: NetworkTools, *, reserved: Iterable[str] = ()) -> IPv4Network:
    """The first candidate that overlaps neither a network in use nor one reserved by another profile."""
    taken = in_use(tools) | {IPv4Network(subnet) for subnet in reserved}
    for candidate in candidates():
        if not any(candidate.overlaps(network) for network in taken):
            return candidate
    raise Reason(
        "IF_DEDICATED_NETWORK",
        "every private subnet that a cluster could use overlaps a route of this host",
        advice="Delete profiles you no longer need (minikube profile list), or take down the VPN whose routes cover them all.",
    )
