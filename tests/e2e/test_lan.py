"""Another machine on the host's network, with routes to everything of a cluster, reaches nothing of it."""

from __future__ import annotations

import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support import manifests
from support.host import SYSCTLS, listening_on_host

from e2e.conftest import Cluster
from minikube.network.tools import NetworkTools

# Of the control plane and its parts, on whatever address; the ports of pods and services are added.
PORTS = (2379, 2380, 2381, 8443, 10248, 10249, 10250, 10255, 10256, 10257, 10259, 53, 80, 8080)
NODE6 = "2001:db8:6::2"
# Runs in the other machine: which of the addresses and ports accept a connection?
DIAL = """
import asyncio, sys
async def dial(target):
    host, _, port = target.rpartition("|")
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 4)
    except OSError:
        return
    writer.close()
    print(target)
async def main():
    await asyncio.gather(*map(dial, sys.argv[1:]))
asyncio.run(main())
"""


class Lan(NamedTuple):
    """The other machine, as a process that holds its network namespace, and the host's address on the network between."""

    process: int
    host: str
    host6: str

    def reached(self, *targets: str) -> list[str]:
        argv = ["nsenter", f"--net=/proc/{self.process}/ns/net", "python3", "-c", DIAL, *targets]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout.split()


@pytest.fixture(scope="module")
def lan(cluster: Cluster, node_image: Path) -> Iterator[Lan]:
    """At the other end of a cable, with addresses of the documentation ranges, and this host as its way to everywhere."""
    name = f"lan{secrets.token_hex(3)}"
    holder = subprocess.Popen(["unshare", "--net", "sleep", "3600"])
    host = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == host:
        pass
    forwarding = [SYSCTLS / "net/ipv6/conf/all/forwarding"]
    before = [setting.read_text() for setting in forwarding if setting.exists()]

    tools = NetworkTools(node_image)
    try:
        tools.ip(
            f"link add {name} type veth peer name eth0 netns {holder.pid}\n"
            f"addr add 203.0.113.1/24 dev {name}\naddr add 2001:db8:5::1/64 dev {name} nodad\nlink set {name} up\n"
        )
        inside = (
            "addr add 203.0.113.2/24 dev eth0\naddr add 2001:db8:5::2/64 dev eth0 nodad\nlink set eth0 up\n"
            "route add default via 203.0.113.1\nroute add default via 2001:db8:5::1\n"
        )
        entered = ["nsenter", f"--net=/proc/{holder.pid}/ns/net", *tools.argv("ip", "-batch", "-")]
        subprocess.run(entered, input=inside.encode(), check=True)
        # A host speaks no IPv6 with its nodes. Here it tries to, to see that the firewall would hold all the same.
        (SYSCTLS / f"net/ipv6/conf/mk-{cluster.host_id}/disable_ipv6").write_text("0")
        tools.ip(f"addr add 2001:db8:6::1/64 dev mk-{cluster.host_id} nodad\n")
        cluster.ssh(f"ip -6 addr add {NODE6}/64 dev eth0 nodad && ip -6 route add default via 2001:db8:6::1")
        for setting in forwarding:
            setting.write_text("1")
        yield Lan(holder.pid, "203.0.113.1", "2001:db8:5::1")
    finally:
        for setting, value in zip(forwarding, before, strict=False):
            setting.write_text(value)
        holder.kill()
        holder.wait()
        tools.ip(f"link del {name}\naddr del 2001:db8:6::1/64 dev mk-{cluster.host_id}\n", force=True)
        (SYSCTLS / f"net/ipv6/conf/mk-{cluster.host_id}/disable_ipv6").write_text("1")
        cluster.ssh(f"ip -6 addr del {NODE6}/64 dev eth0")


@pytest.fixture(scope="module")
def targets(cluster: Cluster) -> list[str]:
    """Everything of the cluster that has an address, with every port that anything could listen on."""
    cluster.apply(*manifests.web("seen"))
    cluster.kubectl("rollout", "status", "deployment/seen", "--timeout=90s")
    service = cluster.get("service", "seen")["spec"]
    pods = [pod["status"]["podIP"] for pod in cluster.get("pods", "-A")["items"] if pod["status"].get("podIP")]
    services = [found["spec"]["clusterIP"] for found in cluster.get("services", "-A")["items"]]
    node = cluster.ok("ip").strip()
    bridge = node.rpartition(".")[0] + ".1"
    ports = {*PORTS, service["ports"][0]["nodePort"], 443}
    found = [f"{address}|{port}" for address in {*pods, *services, node, bridge} for port in sorted(ports)]
    return found + [f"{NODE6}|{port}" for port in sorted(ports)]


def test_the_other_machine_reaches_the_host(lan: Lan) -> None:
    """Otherwise the next tests would say nothing."""
    with socket.create_server((lan.host, 0)) as server, socket.create_server((lan.host6, 0), family=socket.AF_INET6) as server6:
        ports = server.getsockname()[1], server6.getsockname()[1]
        assert len(lan.reached(f"{lan.host}|{ports[0]}", f"{lan.host6}|{ports[1]}")) == 2


def test_the_host_itself_reaches_the_cluster(lan: Lan, cluster: Cluster, targets: list[str]) -> None:
    node = cluster.ok("ip").strip()
    with socket.create_connection((node, 8443), timeout=10):
        assert f"{node}|8443" in targets


def test_no_address_of_the_cluster_answers_another_machine(lan: Lan, targets: list[str]) -> None:
    assert lan.reached(*targets) == []


def test_a_node_port_is_not_a_port_of_the_host(lan: Lan, cluster: Cluster, targets: list[str]) -> None:
    port = cluster.get("service", "seen")["spec"]["ports"][0]["nodePort"]
    assert lan.reached(f"{lan.host}|{port}", f"{lan.host6}|{port}") == []
    assert listening_on_host(cluster) == []


def test_what_only_the_node_itself_needs_listens_on_its_loopback(cluster: Cluster) -> None:
    """On the node's own address there is what needs a certificate: API server, kubelet and etcd; no read-only port, no metrics."""
    lines = cluster.ssh("cat /proc/net/tcp /proc/net/tcp6").splitlines()
    places = [line.split()[1].rpartition(":") for line in lines if line.split()[3] == "0A"]
    loopback = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
    ports = {int(port, 16) for address, _, port in places if address not in loopback}
    assert ports == {2379, 2380, 8443, 10250}


def test_the_kubelet_answers_nobody_without_a_name(cluster: Cluster) -> None:
    ask = "curl --silent --insecure --output /dev/null --write-out '%{http_code}'"
    code = cluster.ssh(f"{ask} https://{cluster.ok('ip').strip()}:10250/pods")
    assert code.strip() == "401"


@pytest.mark.parametrize("port", [8443, 10250, 10257, 10259])
def test_profiling_is_off(cluster: Cluster, port: int) -> None:
    """Asked by an administrator, who would get it if it were there."""
    identity = "--cert /tmp/profiling.crt --key /tmp/profiling.key"
    take = "; ".join(
        f"grep client-{kind}-data /etc/kubernetes/super-admin.conf | cut -d: -f2 | base64 -di > /tmp/profiling.{suffix}"
        for kind, suffix in (("certificate", "crt"), ("key", "key"))
    )
    host = cluster.ok("ip").strip() if port == 10250 else "127.0.0.1"
    ask = f"curl --silent --insecure {identity} --output /dev/null --write-out '%{{http_code}} '"
    both = "; ".join(f"{ask} https://{host}:{port}/{path}" for path in ("healthz", "debug/pprof/cmdline"))
    codes = cluster.ssh(f"{take}; {both}; rm /tmp/profiling.*").split()
    assert codes[0] == "200"
    assert codes[1] in ("403", "404", "405")
