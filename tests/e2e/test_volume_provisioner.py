"""The storage provisioner is there again, whatever was done to it."""

from __future__ import annotations

import pytest
from support.waiting import eventually

from e2e.conftest import Cluster

PROVISIONER = ("-n", "kube-system", "-l", "integration-test=storage-provisioner")


def provisioners(cluster: Cluster) -> list[str]:
    pods = cluster.get("pods", *PROVISIONER)["items"]
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]


def test_a_provisioner_that_was_deleted_comes_back_by_itself(cluster: Cluster) -> None:
    (before,) = provisioners(cluster)
    cluster.kubectl("delete", "pod", before, "-n", "kube-system", "--wait=false")
    eventually(lambda: provisioners(cluster) not in ([], [before]), seconds=60)


@pytest.mark.parametrize("command", [("start",), ("addons", "enable", "storage-provisioner")], ids=" ".join)
@pytest.mark.parametrize("damage", [("delete",), ("scale", "--replicas=0")], ids=lambda words: words[0])
def test_a_provisioner_that_was_removed_is_restored(cluster: Cluster, command: tuple[str, ...], damage: tuple[str, ...]) -> None:
    cluster.kubectl(damage[0], "deployment", "storage-provisioner", "-n", "kube-system", *damage[1:])
    eventually(lambda: provisioners(cluster) == [], seconds=60)
    cluster.ok(*command)
    assert len(provisioners(cluster)) == 1
