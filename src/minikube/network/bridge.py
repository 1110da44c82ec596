"""The private network of one profile: a bridge on the host, a firewall table of its own, a cable into each node."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from minikube.host import inotify
from minikube.host.journal import Change, Journal
from minikube.host.process import ProcessFailed
from minikube.network.tools import NetworkTools
from minikube.output.debuglog import debug
from minikube.output.reason import Reason

LINKS = Path("/sys/class/net")
FORWARDING_NAME = "net.ipv4.ip_forward"
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
REDIRECTS = Path("/proc/sys/net/ipv4/conf/all/accept_redirects")


def changes(name: str, subnet: IPv4Network) -> list[Change]:
    """What `create` will change on the host."""
    planned: list[Change] = [
        {"kind": "bridge", "name": name, "address": str(gateway(subnet))},
        {"kind": "firewall", "family": "inet", "name": name},
    ]
    before = FORWARDING.read_text().strip()
    if before != "1":
        planned.insert(0, {"kind": "sysctl", "name": FORWARDING_NAME, "before": before, "after": "1"})
    if watches := inotify.raised():
        planned.insert(0, {"kind": "sysctl", "name": inotify.SETTING, "before": watches[0], "after": watches[1]})
    return planned


def gateway(subnet: IPv4Network) -> IPv4Interface:
    return IPv4Interface(f"{subnet[1]}/{subnet.prefixlen}")


def create(tools: NetworkTools, journal: Journal, name: str, subnet: IPv4Network) -> None:
    """Make bridge and firewall table; both are replaced if a crash left them half made."""
    planned = changes(name, subnet)
    journal.record(*planned)
    undo_bridge(tools, planned[-2])
    try:
        tools.ip(f"link add {name} type bridge\naddr add {gateway(subnet)} dev {name}\nlink set {name} up\n")
        tools.nft(table(name, str(subnet)))
        for change in planned:
            if change["kind"] == "sysctl":
                entrust(name, change)
                _set(_setting(change), change["after"])
    except (ProcessFailed, OSError) as error:
        raise Reason("IF_DEDICATED_NETWORK", f"the network of this profile could not be made: {error}") from error


def plug(tools: NetworkTools, *, bridge: str, cable: str, process: int) -> None:
    """Lead a cable from the bridge into the network namespace of a process, where it is called eth0."""
    try:
        tools.ip(f"link add {cable} type veth peer name eth0 netns {process}\nlink set {cable} master {bridge} up\n")
    except ProcessFailed as error:
        raise Reason("IF_DEDICATED_NETWORK", f"the node could not be connected to its network: {error}") from error


def undo_bridge(tools: NetworkTools, change: Change) -> None:
    """The cables too: they go with the node's namespace, but the kernel takes its time for that."""
    names = [path.name for path in LINKS.glob(f"{change['name']}*")]
    if names:
        tools.ip("".join(f"link del {name}\n" for name in sorted(names, reverse=True)), force=True)


def undo_firewall(tools: NetworkTools, change: Change) -> None:
    with suppress(ProcessFailed):
        # `add` first makes `delete` succeed also when the table is gone already, in one transaction.
        tools.nft(f"add table {change['family']} {change['name']}\ndelete table {change['family']} {change['name']}\n")


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
    known[change["name"]] = change
    text = "; ".join(f"{duty['name']} was {duty['before']} now {duty['after']}" for duty in known.values())
    (LINKS / bridge / "ifalias").write_text(text)


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
        if name in (FORWARDING_NAME, inotify.SETTING) and before:
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


@contextmanager
def choosing() -> Iterator[None]:
    """One command at a time picks a subnet or gives up a shared setting on this host, whichever user or home it works for.

    An abstract socket is a lock without a file: the kernel frees the name with the process that holds it.
    """
    import time

    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deadline = time.monotonic() + 30
    try:
        while True:
            try:
                lock.bind("\0minikube-choosing-a-subnet")
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise Reason("IF_DEDICATED_NETWORK", "another minikube has been choosing a subnet for 30 seconds") from None
                time.sleep(0.01)
        yield
    finally:
        lock.close()


def table(name: str, subnet: str) -> str:
    """Outwards: NAT. Inwards, IPv6 too: only answers, and the host itself (whose packets never pass `forward`)."""
    return f"""add table inet {name}
delete table inet {name}
table inet {name} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {subnet} oifname != "{name}" masquerade
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    oifname "{name}" iifname "{name}" accept
    oifname "{name}" ct state established,related accept
    oifname "{name}" drop
  }}
}}
"""
