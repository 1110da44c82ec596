"""What depends on the host's network: tried on a host of one's own, whose addresses, settings and resolvers may be changed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import manifests, nameserver
from support.minikube import Minikube
from support.nodeimage import fresh_name
from support.testimages import build_test_images
from support.waiting import eventually
from support.world import World, world

from faults.table import TABLE
from minikube.network.resolvers import RELAY

ONLY_HERE = "only.here.test"
ADDRESS = "192.0.2.55"
FORWARDING = "/proc/sys/net/ipv4/ip_forward"


class Guest(Minikube):
    """A cluster on such a host, and what is done to the host."""

    host: World

    def lookup(self, name: str, server: str = "10.96.0.10") -> str:
        """Ask the cluster's own DNS, or another server, from the node."""
        return self.ssh(f"nslookup {name} {server} || true")

    def relay(self) -> list[int]:
        listed = subprocess.run(["pgrep", "-f", f"dnsrelay.py {self.machine} "], capture_output=True, text=True, check=False)
        return sorted(int(pid) for pid in listed.stdout.split())


@pytest.fixture(scope="module")
def guest(image: Path) -> Iterator[Guest]:
    """Started where forwarding is off and the only resolver is a loopback one."""
    with tempfile.TemporaryDirectory(prefix="mk-world-") as directory, world(Path(directory), image, resolv_conf=RESOLV_CONF) as host:
        subprocess.run([*host.enter(), "sh", "-c", f"echo 0 > {FORWARDING}"], check=True)
        argv = [*host.enter(), sys.executable, nameserver.__file__, "127.0.0.1", f"{ONLY_HERE}={ADDRESS}"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout
                assert server.stdout.readline() == "ready\n"
                guest = Guest(host, fresh_name())
                guest.host = host
                guest.start()
                yield guest
            finally:
                answer = host.run("delete", "--all", "--purge", timeout=180)
                server.kill()
                assert answer.code == 0, answer


RESOLV_CONF = "nameserver 127.0.0.1\nsearch corp.test\n"


def test_a_name_that_only_a_loopback_resolver_knows(guest: Guest) -> None:
    with TABLE.run("resolver on 127.0.0.1"):
        assert guest.ssh("cat /etc/resolv.conf") == f"nameserver {RELAY}\nsearch corp.test\n"
        assert ADDRESS in guest.lookup(ONLY_HERE)
        assert ADDRESS in guest.ssh(f"nslookup -vc {ONLY_HERE} 10.96.0.10 || nslookup {ONLY_HERE}")
        logs = guest.kubectl("-n", "kube-system", "logs", "deployment/coredns")
        assert "Loop" not in logs


def test_a_pod_finds_it_too(guest: Guest, tmp_path: Path) -> None:
    with TABLE.run("resolver on 127.0.0.1, asked by a pod"):
        guest.ssh("ctr -n k8s.io images import -", input=build_test_images(tmp_path, node_image=guest.host.image).read_bytes())
        guest.apply(manifests.pod("asker"))
        guest.kubectl("wait", "--for=condition=Ready", "pod/asker", "--timeout=90s")
        eventually(lambda: ADDRESS in guest.kubectl("exec", "asker", "--", "nslookup", ONLY_HERE), seconds=60)
        # As programs do it, through the C library: with search domains, by resolv.conf.
        assert "search default.svc.cluster.local svc.cluster.local cluster.local corp.test" in guest.kubectl(
            "exec", "asker", "--", "cat", "/etc/resolv.conf"
        )
        guest.kubectl("delete", "pod", "asker", "--now")


def test_the_relay_listens_in_the_node_only(guest: Guest) -> None:
    assert RELAY in guest.ssh("ss -lnut")
    assert ":53" not in "".join(line for line in guest.host.tool("ss", "-lnut").splitlines() if "127.0.0.1:53" not in line)
    assert any(change["kind"] == "relay" for change in guest.run("status", "--host-changes", "-o", "json").json()["HostChanges"])


def test_a_killed_relay_comes_back(guest: Guest) -> None:
    with TABLE.run("kill -9 of the DNS relay's worker"):
        guard, worker = guest.relay()
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: len(guest.relay()) == 2 and worker not in guest.relay())
        assert ADDRESS in guest.lookup(ONLY_HERE, RELAY)
    with TABLE.run("kill -9 of the whole DNS relay, then start"):
        for process in (guard, *guest.relay()):
            if process in guest.relay():
                os.kill(process, signal.SIGKILL)
        eventually(lambda: guest.relay() == [])
        guest.start()
        assert ADDRESS in guest.lookup(ONLY_HERE, RELAY)


def test_the_hosts_addresses_change(guest: Guest) -> None:
    with TABLE.run("host's address and default route change"):
        for number in (1, 2):
            guest.host.tool("ip", "link", "add", f"lan{number}", "type", "veth", "peer", "name", f"far{number}")
            guest.host.tool("ip", "link", "set", f"far{number}", "up")
            guest.host.tool("ip", "addr", "add", f"198.51.100.{number}/24", "dev", f"lan{number}")
            guest.host.tool("ip", "link", "set", f"lan{number}", "up")
            guest.host.tool("ip", "route", "replace", "default", "dev", f"lan{number}")
            if number == 2:
                guest.host.tool("ip", "link", "del", "lan1")
            assert guest.run("status").code == 0
            assert ADDRESS in guest.lookup(ONLY_HERE)
            assert guest.kubectl("get", "--raw", "/readyz").strip() == "ok"


def test_a_stopped_clusters_addresses_are_taken_by_somebody_else(guest: Guest) -> None:
    with TABLE.run("addresses of a stopped cluster taken by a VPN"):
        before = guest.ok("ip").strip()
        guest.kubectl("create", "configmap", "kept", "--from-literal=word=kept")
        guest.ok("stop")
        guest.host.tool("ip", "route", "add", before.rpartition(".")[0] + ".0/24", "dev", "lo")
        guest.start()
        assert guest.ok("ip").strip() != before
        assert guest.run("status").code == 0
        assert guest.get("configmap", "kept")["data"] == {"word": "kept"}
        eventually(lambda: ADDRESS in guest.lookup(ONLY_HERE), seconds=60)
        (node,) = guest.get("nodes")["items"]
        assert guest.ok("ip").strip() in [one["address"] for one in node["status"]["addresses"]]


def test_the_last_cluster_to_leave_puts_forwarding_back(guest: Guest) -> None:
    """The second cluster belongs to another home, whose journal the first cannot know."""
    host = guest.host
    assert host.read(FORWARDING) == "1"
    with TABLE.run("forwarding set by one home, last used by another"):
        other = begun(host, "other")
        guest.ok("delete")
        assert host.read(FORWARDING) == "1"
        assert "net.ipv4.ip_forward" in other.ok("status", "--host-changes")
        other.ok("delete")
        assert host.read(FORWARDING) == "0"
    with TABLE.run("Docker comes while forwarding is on, and stays"):
        last = begun(host, "last")
        host.tool("ip", "link", "add", "docker0", "type", "bridge")
        last.ok("delete")
        assert host.read(FORWARDING) == "1"
    assert "mk-" not in host.tool("ip", "link")
    assert guest.relay() == []


def begun(host: World, name: str) -> Minikube:
    """A cluster in a home of its own that has come as far as its network."""
    cluster = Minikube(World(host.directory / name, host.keeper, host.image), fresh_name())
    cluster.place.directory.mkdir()
    cluster.place.environment["MINIKUBE_DIE_AT"] = "create the box:after"
    assert cluster.run("start").code == -signal.SIGKILL
    del cluster.place.environment["MINIKUBE_DIE_AT"]
    assert host.read(FORWARDING) == "1"
    return cluster
