"""The firewall tables of one cluster's network: what may pass between its nodes, this host, the host's users and other networks.

Two tables with the name of the bridge, loaded in one transaction. The one of the bridge family sees frames before the host's network
stack does, the one of the inet family sees packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network
from typing import NamedTuple

FAMILIES = "inet, bridge"
NOTHING, EVERYTHING = "none", "all"
OWNER, SERVICES = "owner", "services"
# Of etcd, the kubelet, controller manager, scheduler and kube-proxy; some listen on the node's loopback only, or not at all.
CONTROL_PLANE = ("2379-2381", "10248-10250", "10255-10259")
# Interfaces that other software makes for containers and virtual machines, and routes for.
_OF_OTHERS = '{ "bridge", "veth" }'


class Access(NamedTuple):
    """Who may connect to what; plain values, kept among a machine's facts."""

    owner: int = 0
    """The user of this host whose cluster it is."""
    local: str = SERVICES
    """What other users of this host may connect to: SERVICES (all but the control plane), EVERYTHING, or nothing (OWNER)."""
    api_port: int = 8443
    host: tuple[str, ...] = ()
    """Ports of this host that the cluster may connect to, as `8000` or `9000-9100`; or EVERYTHING."""
    asked: tuple[str, ...] = ()
    """Registries and proxies of the cluster: their ports too, where they are on this host."""


def tables(name: str, subnet: IPv4Network, access: Access, *, nodes: Iterable[str], closes_routes: bool) -> str:
    """What `nft` is told. With `closes_routes` the host does not route between networks that are not for containers or machines."""
    return f"{removal(FAMILIES, name)}{_frames(name, subnet)}\n{_packets(name, subnet, access, nodes, closes_routes)}\n"


def removal(families: str, name: str) -> str:
    """`add` first makes `delete` succeed also when the table is gone already, in one transaction."""
    return "".join(f"add table {family} {name}\ndelete table {family} {name}\n" for family in families.split(", "))


def _frames(name: str, subnet: IPv4Network) -> str:
    """From a node to the host: IPv4, and ARP for the cluster's own addresses. No IPv6, so no router advertisements either."""
    gateway = subnet[1]
    return f"""table bridge {name} {{
  chain input {{
    type filter hook input priority filter; policy accept;
    iifname "{name}-*" goto to_host
  }}
  chain to_host {{
    ether type ip accept
    arp saddr ip {subnet} arp saddr ip != {gateway} accept
    drop
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    iifname "{name}-*" goto between_nodes
  }}
  chain between_nodes {{
    ip saddr {gateway} drop
    arp saddr ip {gateway} drop
    icmpv6 type {{ nd-router-advert, nd-redirect }} drop
  }}
}}"""


def _packets(name: str, subnet: IPv4Network, access: Access, nodes: Iterable[str], closes_routes: bool) -> str:
    """Sources: the cluster's subnet, and what the host itself routes to the bridge (somebody added a route to pods or services).

    A bridge hands frames for 01:80:c2:00:00:0X to the host as coming from its port, past all rules that name the bridge. Ports that
    the host passes on to its containers are judged before they are: later, they look like ports of another machine.
    """
    return f"""table inet {name} {{
  set nodes {{
    type ipv4_addr
    elements = {{ {", ".join(nodes)} }}
  }}
  chain prerouting {{
    type filter hook prerouting priority mangle; policy accept;
    iifname "{name}-*" drop
    iifname "{name}" fib daddr type local goto to_host
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {subnet} oifname != "{name}" masquerade
  }}
  chain input {{
    type filter hook input priority filter; policy accept;
    iifname "{name}" goto to_host
  }}
  chain to_host {{
    jump genuine
    ct state established,related accept
    icmp type echo-request accept
    {_opened(access.host)}
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }}
  chain genuine {{
    icmp type redirect drop
    ip saddr {subnet} ip saddr != {subnet[1]} return
    fib saddr . iif oif missing drop
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    iifname "{name}" oifname "{name}" accept
    oifname "{name}" ct state established,related accept
    oifname "{name}" drop
    iifname "{name}" goto genuine
    {_between_others() if closes_routes else ""}
  }}
  chain output {{
    type filter hook output priority filter; policy accept;
    oifname "{name}" meta skuid != {{ {", ".join(map(str, sorted({0, access.owner})))} }} goto from_strangers
  }}
  chain from_strangers {{
    ct state established,related ct direction reply accept
    {_to_strangers(access)}
  }}
}}"""


def _opened(ports: Sequence[str]) -> str:
    if EVERYTHING in ports:
        return "accept"
    return f"meta l4proto {{ tcp, udp }} th dport {{ {', '.join(ports)} }} accept" if ports else ""


def _between_others() -> str:
    return f"meta iifkind {_OF_OTHERS} accept\n    meta oifkind {_OF_OTHERS} accept\n    meta nfproto ipv4 drop"


def _to_strangers(access: Access) -> str:
    """A refusal, so that nobody waits for an answer."""
    if access.local == EVERYTHING:
        return "accept"
    if access.local == OWNER:
        return "meta l4proto tcp reject with tcp reset\n    reject with icmpx admin-prohibited"
    return f"ip daddr @nodes tcp dport {{ {', '.join((str(access.api_port), *CONTROL_PLANE))} }} reject with tcp reset"
