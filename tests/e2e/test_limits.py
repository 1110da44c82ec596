"""A node's limits are real, and the kubelet knows them."""

from __future__ import annotations

import json
from pathlib import Path

from support.host import CGROUPS
from support.minikube import Minikube

from e2e.conftest import Cluster
from e2e.pair import SMALL_MB, Pair

MEGABYTE = 1 << 20


def limit(minikube: Minikube, controller: str, v1: str, v2: str) -> int:
    """A limit of the node's control group, as the kernel of the host has it."""
    group = f"minikube/{minikube.host_id}"
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
