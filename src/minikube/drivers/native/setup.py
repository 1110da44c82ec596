"""What the supervisor does in the node before it starts any service: kernel settings and the network, from the inside."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from minikube.network.resolvers import RELAY

# The kubelet insists on these values and would write them, but they are settings of the whole host:
# in the node, a file that already says so lies over each.
KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
SETTINGS_DIRECTORY = "/etc/minikube/kernel"
MOUNTS = f"{SETTINGS_DIRECTORY}/mounts"
# A group of version 2 has processes or divides what it has, never both, and the kubelet divides the node's root group among pods.
LEAVE_ROOT_GROUP = """
cd /sys/fs/cgroup
[ -e cgroup.controllers ] || exit 0
mkdir -p services && for process in $(cat cgroup.procs); do echo $process > services/cgroup.procs || [ ! -e /proc/$process ] || exit; done
"""


def files() -> dict[str, str]:
    """What the commands need in the node."""
    settings = {f"{SETTINGS_DIRECTORY}/{name}": f"{value}\n" for name, value in KERNEL_SETTINGS.items()}
    mounts = [(place, place) for place in ("/proc/sys", "/proc/sys/net")]
    mounts += [(f"{SETTINGS_DIRECTORY}/{name}", f"/proc/sys/{name}") for name in KERNEL_SETTINGS]
    return {**settings, MOUNTS: "".join(f"{source} {target} none bind\n" for source, target in mounts)}


def commands(*, subnet: str, service_address: str, api_port: int, closed: bool) -> list[dict[str, Any]]:
    """The supervisor's `setup` list. `closed`: nothing but mounts keeps the node from writing kernel settings of the host."""
    network = IPv4Network(subnet)
    address, gateway = IPv4Interface(f"{network[2]}/{network.prefixlen}"), str(network[1])
    return [
        {"argv": ["/bin/sh", "-c", LEAVE_ROOT_GROUP]},
        {"argv": ["/bin/sh", "-c", _kernel_settings(closed=closed)]},
        {"argv": ["/usr/sbin/ip", "-batch", "-"], "input": _addresses(address, gateway)},
        {"argv": ["/usr/sbin/nft", "-f", "-"], "input": _api_shortcut(str(address.ip), service_address, api_port)},
    ]


def _kernel_settings(*, closed: bool) -> str:
    """Closed, /proc/sys is read-only except the network's, which belong to the node's own namespace.

    Then pods cannot have settings of IPC namespaces (kernel.shm_rmid_forced): the runtime writes them from the pod's namespace, but
    through this /proc/sys, and a mount of a single one of these files would be that of the node's namespace.
    """
    # One process makes all the mounts: everything waits for this.
    close = "mount -o remount,bind,ro /proc/sys && " if closed else ""
    return f"mount --all --fstab {MOUNTS} && {close}echo 1 > /proc/sys/net/ipv4/ip_forward"


def _addresses(address: IPv4Interface, gateway: str) -> str:
    return f"link set lo up\naddr add {RELAY}/32 dev lo\naddr add {address} dev eth0\nlink set eth0 up\nroute add default via {gateway}\n"


def _api_shortcut(node: str, service_address: str, port: int) -> str:
    """The API's service address works before kube-proxy runs: whoever dials it early would wait out SYN retransmits for seconds."""
    rule = f"ip daddr {service_address} tcp dport 443 dnat to {node}:{port}"
    return f"""table ip minikube {{
  chain prerouting {{
    type nat hook prerouting priority -110; policy accept;
    {rule}
  }}
  chain output {{
    type nat hook output priority -110; policy accept;
    {rule}
  }}
}}
"""
