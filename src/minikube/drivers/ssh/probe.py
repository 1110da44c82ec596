"""A first look at a machine with nothing but its shell: what it is, what it has, and whether we may be root there."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from minikube.drivers.ssh import explain, place
from minikube.drivers.ssh.connection import Connection
from minikube.drivers.values import Machine
from minikube.host.capabilities import NAMES
from minikube.host.system import architecture
from minikube.network.resolvers import host_resolvers, resolv_conf_without_relay
from minikube.output.reason import Reason

MARK = "#minikube-"
RESOLVERS = ("/run/systemd/resolve/resolv.conf", "/etc/resolv.conf")

# Each section begins with a mark of its own: a log-in script may have said something before.
SCRIPT = f"""
exec 2>/dev/null
say() {{ echo; echo '{MARK}'"$1"; }}
say kernel; uname -s; uname -m
say user; id -u
say root; if [ "$(id -u)" = 0 ]; then echo yes; else sudo -n true && echo yes; fi
say cpus; nproc || grep -c '^processor' /proc/cpuinfo
say memory; grep MemTotal /proc/meminfo
say cgroup; [ -e /sys/fs/cgroup/cgroup.controllers ] && echo v2
say capabilities; grep CapBnd /proc/1/status
say resolver0; cat {RESOLVERS[0]}
say resolver1; cat {RESOLVERS[1]}
say space; df -Pk /var | tail -n 1
say entries; ls {place.ENTRIES}
say agents; ls {place.AGENTS}
say end
"""

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x"}


class Found(NamedTuple):
    """What the machine said."""

    system: str
    architecture: str
    sudo: str
    """What makes a command root's: nothing, or sudo."""
    machine: Machine
    free_kb: int
    entries: frozenset[str]
    agents: frozenset[str]


def look(connection: Connection) -> Found:
    """Ask the machine; refuses one that cannot hold a node."""
    answer = connection.run("sh", input=SCRIPT.encode(), timeout=60)
    sections = _sections(answer.text)
    if "end" not in sections:
        raise explain.refused(connection.target, answer.error_text, connection.directory / "known_hosts")
    target = connection.target
    try:
        found = _understand(sections)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise Reason(
            "GUEST_PROVISION",
            f"What {target.address} says about itself cannot be understood: {error!s:.200}",
            advice=f"See that these work there: uname, id, nproc, df. {explain.by_hand(target)}",
        ) from error
    if found.system != "Linux" or found.architecture != architecture():
        raise Reason(
            "HOST_UNSUPPORTED",
            f"{target.address} is {found.system} on {found.architecture}; a node made here needs Linux on {architecture()}",
            advice="Choose another machine with --ssh-ip-address.",
        )
    if sections["root"] != ["yes"]:
        raise Reason(
            "DRV_NEEDS_ROOT",
            f"the user {target.user} on {target.address} is not root and may not use sudo without a password, and a node needs root rights",
            advice=f"Use --ssh-user=root, or allow it there: echo '{target.user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/{target.user}",
        )
    if connection.forbids_forwarding():
        raise explain.no_forwarding(target)
    return found


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in text.split(f"\n{MARK}")[1:]:
        name, *lines = part.splitlines()
        found[name] = [line for line in lines if line.strip()]
    return found


def _understand(sections: dict[str, list[str]]) -> Found:
    system, kernel_architecture = (sections["kernel"] + ["?", "?"])[:2]
    mask = int((sections["capabilities"] or ["CapBnd: 0"])[0].split()[1], 16)
    memory = int((sections["memory"] or ["MemTotal: 0 kB"])[0].split()[1]) >> 10
    with TemporaryDirectory() as scratch:
        files = tuple(Path(scratch, str(number)) for number in range(len(RESOLVERS)))
        for number, file in enumerate(files):
            file.write_text("\n".join(sections[f"resolver{number}"]))
        behind_the_stub, resolv_conf_file = files
        resolv_conf = resolv_conf_without_relay(host_resolvers(resolv_conf_file, behind_the_stub))
    return Found(
        system=system,
        architecture=ARCHITECTURES.get(kernel_architecture, kernel_architecture),
        sudo="" if sections["user"] == ["0"] else "sudo -n ",
        machine=Machine(
            cpus=int((sections["cpus"] or ["1"])[0]),
            memory_mb=memory,
            cgroup_v2=sections["cgroup"] == ["v2"],
            capabilities=frozenset(f"CAP_{name}" for number, name in enumerate(NAMES) if mask >> number & 1),
            resolv_conf=resolv_conf,
        ),
        free_kb=int((sections["space"] or ["/ 0 0 0"])[0].split()[3]),
        entries=frozenset(sections["entries"]),
        agents=frozenset(sections["agents"]),
    )
