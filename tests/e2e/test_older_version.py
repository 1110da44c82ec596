"""A cluster of the oldest version there are pins of: it works, keeps its data over a stop, and says how far an upgrade can go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.builtversions import cluster_of
from support.minikube import Minikube, Place
from support.waiting import eventually

from e2e.conftest import identity, not_ready
from minikube.artifacts.catalogue import VERSION_SETS

OLDEST, NEXT = VERSION_SETS[-1], VERSION_SETS[-2]
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"word": "kept"}}


@pytest.fixture(scope="module")
def oldest(place: Place, node_image: Path) -> Iterator[Minikube]:
    with cluster_of(OLDEST, place) as cluster:
        yield cluster


def test_it_works_and_keeps_its_data_over_a_stop(oldest: Minikube) -> None:
    assert not_ready(oldest.get("pods", "-A")["items"]) == []
    assert oldest.get("nodes")["items"][0]["status"]["nodeInfo"]["kubeletVersion"] == OLDEST.kubernetes
    oldest.apply(SETTINGS)
    before = identity(oldest)
    oldest.ok("stop")
    oldest.start()
    assert not_ready(oldest.get("pods", "-A")["items"]) == []
    assert identity(oldest) == before
    assert oldest.get("configmap", "settings")["data"] == {"word": "kept"}
    # kube-proxy tells nobody when it has written its rules.
    eventually(lambda: oldest.run("ssh", "--", "busybox nslookup kubernetes.default.svc.cluster.local 10.96.0.10").code == 0, seconds=20)


def test_an_upgrade_goes_one_minor_version_at_a_time(oldest: Minikube) -> None:
    answer = oldest.run("start", f"--kubernetes-version={NEXT.kubernetes}")
    assert answer.code == 106
    assert "K8S_UPGRADE_UNSUPPORTED" in answer.stderr
    minor = int(OLDEST.kubernetes.split(".")[1])
    assert f"--kubernetes-version=v1.{minor + 1}, then the same again" in answer.stderr
    assert oldest.get("nodes")["items"][0]["status"]["nodeInfo"]["kubeletVersion"] == OLDEST.kubernetes
