"""A node's limits are real, and the kubelet knows them."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import manifests
from support.host import CGROUPS
from support.minikube import Minikube
from support.waiting import eventually

from e2e.conftest import Cluster
from e2e.pair import SMALL_MB, Pair

MEGABYTE = 1 << 20


def limit(minikube: Minikube, controller: str, v1: str, v2: str) -> int:
    """A limit of the node's control group, as the kernel of the host has it."""
    group = f"minikube/{minikube.host_id}/fence"
    unified = CGROUPS / group / v2
    return int((unified if unified.exists() else CGROUPS / controller / group / v1).read_text())


def memory_limit(minikube: Minikube) -> int:
    return limit(minikube, "memory", "memory.limit_in_bytes", "memory.max")


def allocatable(minikube: Minikube) -> int:
    text = minikube.get("node", minikube.profile)["status"]["allocatable"]["memory"]
    return int(text.removesuffix("Ki")) * 1024 if text.endswith("Ki") else int(text)


def test_memory_is_limited_to_what_the_profile_says(cluster: Cluster) -> None:
    config = json.loads(Path(cluster.place.home, "profiles", cluster.profile, "config.json").read_bytes())
    assert config["Memory"] >= 1800
    assert memory_limit(cluster) == config["Memory"] * MEGABYTE


def test_the_kubelet_offers_what_the_node_has(cluster: Cluster) -> None:
    assert abs(allocatable(cluster) - memory_limit(cluster)) <= 2 * MEGABYTE


def test_processes_are_limited(cluster: Cluster) -> None:
    assert 1000 < limit(cluster, "pids", "pids.max", "pids.max") < 1_000_000


def test_the_memory_flag_is_respected(pair: Pair) -> None:
    assert memory_limit(pair.kept) == SMALL_MB * MEGABYTE
    assert abs(allocatable(pair.kept) - SMALL_MB * MEGABYTE) <= 2 * MEGABYTE


class Latency:
    """How long the host itself takes for small things while something goes on: to start a process, and to wake up on time."""

    def __init__(self) -> None:
        self.worst = 0.0
        self.samples = 0

    def __str__(self) -> str:
        return f"worst of {self.samples}: {self.worst:.2f} s"


@contextmanager
def latency_of_host() -> Iterator[Latency]:
    latency, ended = Latency(), threading.Event()

    def look() -> None:
        while not ended.is_set():
            began = time.monotonic()
            subprocess.run(["true"], check=True)
            time.sleep(0.1)
            latency.worst = max(latency.worst, time.monotonic() - began - 0.1)
            latency.samples += 1

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield latency
    finally:
        ended.set()
        watcher.join()
        print(latency)


BEARABLE = 10.0  # seconds; beyond that a host is as good as dead


@pytest.fixture(scope="module")
def victim(pair: Pair, cluster: Cluster) -> Minikube:
    """The small cluster, with the test images."""
    archive = cluster.place.directory / "test-images.tar"
    pair.kept.ssh("ctr -n k8s.io images import -", input=archive.read_bytes())
    return pair.kept


def test_a_fork_bomb_stays_in_its_pod(victim: Minikube) -> None:
    group = f"minikube/{victim.host_id}/fence"
    pids = CGROUPS / group if (CGROUPS / group).exists() else CGROUPS / "pids" / group

    def refused() -> bool:
        """Somewhere a process could not be started."""
        return any(int(file.read_text().split()[1]) for file in pids.rglob("pids.events"))

    with latency_of_host() as latency:
        victim.apply(manifests.pod("bomb", "bomb() { bomb | bomb & }; bomb; sleep 3600"))
        eventually(refused, seconds=90)
        assert int((pids / "pids.current").read_text()) < limit(victim, "pids", "pids.max", "pids.max")
        assert victim.kubectl("get", "--raw", "/livez") == "ok"
        victim.kubectl("delete", "pod/bomb", "--grace-period=0", "--force", timeout=120)
        eventually(lambda: int((pids / "pids.current").read_text()) < 2000, seconds=90)
    assert latency.worst < BEARABLE


def test_a_memory_hog_dies_of_the_nodes_limit(victim: Minikube) -> None:
    with latency_of_host() as latency:
        victim.apply(manifests.pod("hog", "dd if=/dev/zero of=/dev/null bs=3000M count=1", restart="Never"))
        eventually(lambda: victim.get("pod", "hog")["status"]["phase"] == "Failed", seconds=120, every=1)
    ended = victim.get("pod", "hog")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 137
    assert victim.kubectl("get", "--raw", "/livez") == "ok"
    assert latency.worst < BEARABLE


def test_other_limits_hold_from_the_next_start(victim: Minikube) -> None:
    """Without a restart of anything but the kubelet; and burners on every CPU get one of them, if the host has more."""
    first_process = (victim.machine / "bundle/pid").read_text()
    victim.start("--memory=2500mb", "--cpus=1", "--force")
    assert (victim.machine / "bundle/pid").read_text() == first_process
    assert memory_limit(victim) == 2500 * MEGABYTE
    eventually(lambda: abs(allocatable(victim) - 2500 * MEGABYTE) <= 2 * MEGABYTE)
    assert victim.get("node", victim.profile)["status"]["allocatable"]["cpu"] == "1"
    with latency_of_host() as latency:
        victim.apply(manifests.pod("burner", "for i in 1 2 3 4 5 6 7 8; do yes > /dev/null & done; wait"))
        victim.kubectl("wait", "--for=condition=Ready", "pod/burner", "--timeout=120s")
        time.sleep(1)
        before, began = cpu_seconds(victim), time.monotonic()
        time.sleep(4)
        used = (cpu_seconds(victim) - before) / (time.monotonic() - began)
    assert used < 1.15
    assert latency.worst < BEARABLE
    victim.kubectl("delete", "pod/burner", "--wait=false")


def cpu_seconds(minikube: Minikube) -> float:
    """CPU time that everything in the node has had."""
    group = f"minikube/{minikube.host_id}/fence"
    v1 = CGROUPS / "cpuacct" / group / "cpuacct.usage"
    if v1.exists():
        return int(v1.read_text()) / 1e9
    return int((CGROUPS / group / "cpu.stat").read_text().split()[1]) / 1e6
