"""The private network of one profile: a bridge on the host, firewall tables of its own, a cable into each node."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from minikube.host import inotify, reservations
from minikube.host.hostlock import host_lock
from minikube.host.journal import Change, Journal
from minikube.host.process import ProcessFailed
from minikube.network import firewall
from minikube.network.firewall import Access
from minikube.network.tools import NetworkTools
from minikube.output.debuglog import debug
from minikube.output.reason import Reason

LINKS = Path("/sys/class/net")
FORWARDING_NAME = "net.ipv4.ip_forward"
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
REDIRECTS = Path("/proc/sys/net/ipv4/conf/all/accept_redirects")
IPV6_SETTINGS = Path("/proc/sys/net/ipv6/conf")


def changes(name: str, subnet: IPv4Network) -> list[Change]:
    """What `create` will change on the host."""
    planned: list[Change] = [
        {"kind": "bridge", "name": name, "address": str(gateway(subnet))},
        {"kind": "firewall", "family": firewall.FAMILIES, "name": name},
    ]
    before = FORWARDING.read_text().strip()
    if before != "1":
        planned.insert(0, {"kind": "sysctl", "name": FORWARDING_NAME, "before": before, "after": "1"})
    return [*_raised(name), *planned]


def _raised(name: str) -> list[Change]:
    """Limits of the host that do not suffice for one cluster more, and can be raised."""
    raised: list[Change] = []
    for setting, before, after in reservations.settings_too_low(name):
        if inotify.can_raise(name=setting):
            raised.append({"kind": "sysctl", "name": setting, "before": str(before), "after": str(after)})
        elif setting == inotify.SETTING:
            reservations.require_instances(name)
    return raised


def gateway(subnet: IPv4Network) -> IPv4Interface:
    return IPv4Interface(f"{subnet[1]}/{subnet.prefixlen}")


def node_address(subnet: IPv4Network) -> IPv4Interface:
    return IPv4Interface(f"{subnet[2]}/{subnet.prefixlen}")


def create(tools: NetworkTools, journal: Journal, name: str, subnet: IPv4Network, access: Access) -> None:
    """Make bridge and firewall tables; they are replaced if a crash left them half made."""
    planned = changes(name, subnet)
    journal.record(*planned)
    undo_bridge(tools, {"name": name})
    try:
        # Without snooping, no multicast message of a node is read on the host.
        tools.ip(f"link add {name} type bridge mcast_snooping 0\naddr add {gateway(subnet)} dev {name}\nlink set {name} up\n")
        _without_ipv6(name)
        protect(tools, name, subnet, access)
        for change in planned:
            if change["kind"] == "sysctl":
                entrust(name, change)
                _set(_setting(change), change["after"])
    except (ProcessFailed, OSError) as error:
        raise Reason("IF_DEDICATED_NETWORK", f"the network of this profile could not be made: {error}") from error


def protect(tools: NetworkTools, name: str, subnet: IPv4Network, access: Access) -> None:
    """Load the firewall tables, or others in their place."""
    nodes = [str(node_address(subnet).ip)]
    tools.nft(firewall.tables(name, subnet, access, nodes=nodes, closes_routes=forwarding_is_ours()))


def forwarding_is_ours() -> bool:
    """Whether this host forwards packets, or is about to, for no other reason than that a cluster needs it."""
    if FORWARDING.read_text().strip() != "1":
        return True
    return any(duty["name"] == FORWARDING_NAME for path in LINKS.glob("mk-????????") for duty in duties(path.name))


def plug(tools: NetworkTools, *, bridge: str, cable: str, process: int) -> None:
    """Lead a cable from the bridge into the network namespace of a process, where it is called eth0."""
    try:
        # A bridge remembers every sender that it sees, without limit: a node could fill the host's memory with invented ones.
        # Without `arp off` the host would answer, as its own, ARP frames that a bridge hands to the port itself (01:80:c2:00:00:0X).
        tools.ip(
            f"link add {cable} type veth peer name eth0 netns {process}\nlink set {cable} master {bridge} up\n"
            f"link set {cable} type bridge_slave learning off\nlink set {cable} arp off\n"
        )
        _without_ipv6(cable)
    except ProcessFailed as error:
        raise Reason("IF_DEDICATED_NETWORK", f"the node could not be connected to its network: {error}") from error


def _without_ipv6(link: str) -> None:
    """The host speaks no IPv6 with nodes. The firewall drops theirs; where this cannot be set, that is enough."""
    with suppress(OSError):
        (IPV6_SETTINGS / link / "disable_ipv6").write_text("1")


def undo_bridge(tools: NetworkTools, change: Change) -> None:
    """The cables too: they go with the node's namespace, but the kernel takes its time for that."""
    names = [path.name for path in LINKS.glob(f"{change['name']}*")]
    if names:
        tools.ip("".join(f"link del {name}\n" for name in sorted(names, reverse=True)), force=True)


def undo_firewall(tools: NetworkTools, change: Change) -> None:
    with suppress(ProcessFailed):
        tools.nft(firewall.removal(change["family"], change["name"]))


def entrust(bridge: str, change: Change) -> None:
    """Write on a bridge, as its alias, which setting must be put back when the last such bridge of the host goes.

    A journal belongs to one home; the bridge is there for every home and user, and gone after a reboot, as the setting is.
    """
    known = {duty["name"]: duty for duty in duties(bridge)}
    other = known.get(change["name"], change)
    if other["before"] == change["after"]:  # two changes, one after the other: what it was before both counts
        change = {**other, "before": change["before"]}
    elif other["after"] == change["before"]:
        change = {**change, "before": other["before"]}
    elif change["name"] in known:  # somebody else has set it in between: what this bridge's cluster found counts
        change = other
    known[change["name"]] = change
    held = reservations.parsed((LINKS / bridge / "ifalias").read_text(errors="replace"))
    text = "; ".join(f"{duty['name']} was {duty['before']} now {duty['after']}" for duty in known.values())
    (LINKS / bridge / "ifalias").write_text(f"{text}; {held}" if held else text)


def duties(bridge: str) -> list[Change]:
    """What is written on a bridge."""
    try:
        parts = (LINKS / bridge / "ifalias").read_text().strip().split("; ")
    except OSError:
        return []
    found: list[Change] = []
    for part in parts:
        name, _, values = part.partition(" was ")
        before, _, after = values.partition(" now ")
        if name in (FORWARDING_NAME, *inotify.SETTINGS) and before:
            found.append({"kind": "sysctl", "name": name, "before": before, "after": after or "1"})
    return found


def leave_setting(change: Change, *, own: str) -> None:
    """Put a setting back, or, while another cluster of any home needs it, leave that to the other's end."""
    with choosing():
        for other in sorted(path.name for path in LINKS.glob("mk-????????") if path.name != own):
            with suppress(OSError):
                entrust(other, change)
                return
        if change["name"] == FORWARDING_NAME and (relying := networks_of_others()):
            debug(f"{change['name']} stays {change['after']}: {', '.join(relying)} may rely on it by now")
            return
        undo_sysctl(change)


def networks_of_others() -> list[str]:
    """Bridges of other programs that packets are routed to and from: those without a network card in them.

    Docker, libvirt or Podman, started while forwarding was on, found it as they need it, did nothing and will not look again.
    """
    bridges = [path.parent for path in LINKS.glob("*/bridge") if not path.parent.name.startswith("mk-")]
    return sorted(path.name for path in bridges if not any((LINKS / port.name / "device").exists() for port in path.glob("brif/*")))


def undo_sysctl(change: Change) -> None:
    """Put a kernel setting back, unless somebody set it to something else since."""
    setting = _setting(change)
    if setting.read_text().strip() == change["after"]:
        _set(setting, change["before"])


def _setting(change: Change) -> Path:
    return Path("/proc/sys", *change["name"].split("."))


def _set(setting: Path, value: str) -> None:
    """Change one setting and no other: with every change of forwarding the kernel turns redirects on or off as well."""
    redirects = REDIRECTS.read_text()
    setting.write_text(value)
    if setting == FORWARDING:
        REDIRECTS.write_text(redirects)


def choosing() -> AbstractContextManager[None]:
    """One command at a time picks a subnet or gives up a shared setting on this host, whichever user or home it works for."""
    return host_lock()
