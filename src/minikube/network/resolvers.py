"""The name servers a node may use: never more than three, and only such as it can reach; the others are asked by a relay on the host."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import NamedTuple

from minikube.network.hostaccess import is_here

RESOLV_CONF = Path("/etc/resolv.conf")
# systemd-resolved's own list of the real servers behind its stub.
BEHIND_THE_STUB = Path("/run/systemd/resolve/resolv.conf")
STUBS = {"127.0.0.53", "127.0.0.54"}
MOST = 3  # the C library, and kubelet with it, takes no more
NOBODY_NAMED = ("127.0.0.1",)  # whom the C library asks then
# In every node, on its loopback interface. Link-local, and not one that clouds or node-local DNS caches use.
RELAY = "169.254.53.53"


class Resolvers(NamedTuple):
    """Whom the host asks, in its order, and the lines of its resolv.conf about names."""

    servers: tuple[str, ...]
    lines: tuple[str, ...] = ()
    named: bool = True

    @property
    def need_relay(self) -> bool:
        """True if a node cannot ask one of them itself: its network is IPv4, and closed towards the host's own addresses."""
        return any(not _within_reach(server) for server in self.servers)


def host_resolvers(resolv_conf: Path = RESOLV_CONF, behind_the_stub: Path = BEHIND_THE_STUB) -> Resolvers:
    """What the host's own programs use."""
    found = _read(resolv_conf)
    if found.servers and set(found.servers) <= STUBS:
        real = _read(behind_the_stub)
        found = real if real.servers else found
    return found if found.servers else found._replace(servers=NOBODY_NAMED, named=False)


def node_resolv_conf(resolvers: Resolvers) -> str:
    """The node's resolv.conf. One server that only the host reaches makes all go through the relay: their order means something."""
    return _text((RELAY,) if resolvers.need_relay else resolvers.servers, resolvers.lines)


def resolv_conf_without_relay(resolvers: Resolvers) -> str:
    """For a node that has no relay: the servers that it can ask itself, which may be none."""
    return _text([server for server in resolvers.servers if _within_reach(server)], resolvers.lines)


def _text(servers: Sequence[str], lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in [*(f"nameserver {server}" for server in servers), *lines])


def _within_reach(server: str) -> bool:
    address = _address(server)
    return isinstance(address, IPv4Address) and not address.is_loopback and not is_here(server)


def _read(file: Path) -> Resolvers:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return Resolvers(())
    words = [line.split() for line in lines]
    servers = dict.fromkeys(line[1] for line in words if len(line) > 1 and line[0] == "nameserver" and _address(line[1]))
    kept = tuple(" ".join(line) for line in words if line[:1] in (["search"], ["domain"], ["options"]))
    return Resolvers(tuple(servers)[:MOST], kept)


def _address(server: str) -> object:
    try:
        address = ip_address(server)
    except ValueError:
        return None
    return None if address.is_unspecified else address
