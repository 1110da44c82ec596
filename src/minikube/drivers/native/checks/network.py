"""The network: what the node's own is made of, and what of the host's may be in its way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_address, ip_network

from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking
from minikube.drivers.native.checks.mounts import mount_of
from minikube.drivers.native.layout import Layout
from minikube.host.modules import ABSENT, availability
from minikube.network import resolvers as host_resolvers
from minikube.network import routes, subnets

FORWARDING = "/proc/sys/net/ipv4/ip_forward"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def links(ground: Ground) -> Finding:
    absent = [kind for kind in ("bridge", "veth") if availability(ground.root, ground.kernel, kind) == ABSENT]
    if absent:
        return lacking(
            f"this kernel has no {' and no '.join(absent)} interfaces",
            f"Install the kernel's module package (linux-modules-extra-{ground.kernel} on Ubuntu), or use another kernel.",
        )
    return fine("bridge, veth")


def forwarding(ground: Ground) -> Finding:
    if ground.read(FORWARDING).strip() == "1":
        return fine("it is on")
    if not ground.path(FORWARDING).exists():
        return lacking("this kernel does not route IPv4", "Use a kernel that is built with CONFIG_INET.")
    mount = mount_of(ground, ground.path("/proc/sys"))
    if mount is not None and "ro" in mount.options:
        return lacking("off, and kernel settings are read-only here", "Run on the host itself: sudo sysctl -w net.ipv4.ip_forward=1")
    return fine("off; switched on while a cluster runs")


def subnet(ground: Ground) -> Finding:
    listing = ground.read(routes.FILE)
    if not listing:
        return doubtful("the routes of this host cannot be read", "Mount /proc.")
    taken = routes.destinations(listing)
    own = _recorded_subnet(ground)
    if own and not ground.path(f"/sys/class/net/{Layout(ground.machine).bridge}").exists():
        clash = next((network for network in sorted(taken) if network.overlaps(own)), None)
        if clash:
            return doubtful(
                f'the addresses of "{ground.machine}", {own}, are now those of a route of this host ({clash}), a VPN perhaps',
                "The next start gives the cluster other addresses. To keep them, take the VPN down first.",
            )
    if own:
        return fine(f'{own} belongs to "{ground.machine}"')
    free = next((candidate for candidate in _candidates(taken)), None)
    if free is None:
        return lacking(
            "every private subnet that a cluster could use overlaps a route of this host",
            "Take down the VPN whose routes cover them all (ip route), or delete profiles you no longer need.",
        )
    return fine(f"{free} is the next one")


def _candidates(taken: set[IPv4Network]) -> Iterator[IPv4Network]:
    return (candidate for candidate in subnets.candidates() if not any(candidate.overlaps(network) for network in taken))


def _recorded_subnet(ground: Ground) -> IPv4Network | None:
    """The subnet the machine was given when it was made."""
    try:
        return IPv4Network(json.loads((ground.home / "machines" / ground.machine / "native.json").read_bytes())["subnet"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def resolvers(ground: Ground) -> Finding:
    asked = host_resolvers.host_resolvers(ground.path(str(host_resolvers.RESOLV_CONF)), ground.path(str(host_resolvers.BEHIND_THE_STUB)))
    if not asked.named:
        return doubtful(
            "the host names none: pods cannot look up names outside the cluster, unless a name server runs on 127.0.0.1",
            "Put a line with one into /etc/resolv.conf, for example: nameserver 192.168.1.1",
        )
    return fine(f"{', '.join(asked.servers)}" + (", asked through a relay on this host" if asked.need_relay else ""))


def proxy(ground: Ground) -> Finding:
    def setting(name: str) -> str:
        return ground.environment.get(name, "") or ground.environment.get(name.lower(), "")

    used = [name for name in _PROXIES if setting(name)]
    if not used:
        return fine("no proxy is set")
    exempt = [entry.strip() for entry in setting("NO_PROXY").split(",") if entry.strip()]
    wanted = str(_recorded_subnet(ground) or "192.168.49.0/24")
    if any(_covers(entry, wanted) for entry in exempt):
        return fine(f"{', '.join(used)}; clusters are exempt (NO_PROXY)")
    return doubtful(
        f"{', '.join(used)} set, and NO_PROXY does not name {wanted}: kubectl would ask the proxy for the cluster",
        f"Run: export NO_PROXY={','.join([*exempt, wanted, '10.96.0.0/12', 'localhost', '127.0.0.1'])}",
    )


def _covers(entry: str, network: str) -> bool:
    """Whether an entry of NO_PROXY exempts the network."""
    if entry == "*":
        return True
    try:
        exempt, wanted = ip_network(entry, strict=False), ip_network(network)
    except ValueError:
        return False
    return exempt.overlaps(wanted)


def ipv6(ground: Ground) -> Finding:
    if not ground.path("/proc/net/if_inet6").exists() or ground.number("/proc/sys/net/ipv6/conf/all/disable_ipv6", 0) == 1:
        return fine("off; clusters use IPv4")
    addresses = [ip_address(bytes.fromhex(line.split()[0])) for line in ground.read("/proc/net/if_inet6").splitlines() if line.split()]
    outside = any(address.is_global for address in addresses)
    return fine("on, clusters use IPv4" if outside else "only local addresses; clusters use IPv4")
