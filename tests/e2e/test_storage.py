"""Volumes: there when asked for, and still there later."""

from __future__ import annotations

from support import manifests

from e2e.conftest import Cluster, Restart


def word(cluster: Cluster) -> str:
    return cluster.kubectl("exec", "keeper", "--", "cat", "/data/word").strip()


def test_a_claim_is_bound_before_any_pod_uses_it(cluster: Cluster) -> None:
    cluster.apply(manifests.claim("unused"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/unused", "--timeout=30s")


def test_data_outlives_the_pod(volume: Cluster) -> None:
    volume.kubectl("delete", "pod", "keeper", "--wait")
    volume.apply(manifests.pod("keeper", claim="kept"))
    volume.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=60s")
    assert word(volume) == "precious"


def test_data_outlives_stop_and_start(volume: Cluster, restart: Restart) -> None:
    assert restart.start.code == 0, restart.start
    volume.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=60s")
    assert word(volume) == "precious"


def test_a_deleted_claim_takes_its_volume_along(cluster: Cluster) -> None:
    cluster.apply(manifests.claim("brief"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/brief", "--timeout=30s")
    volume = cluster.get("pvc", "brief")["spec"]["volumeName"]
    path = cluster.get("pv", volume)["spec"]["hostPath"]["path"]
    assert cluster.run("ssh", "--", f"test -d {path}").code == 0
    cluster.kubectl("delete", "pvc", "brief", "--wait")
    cluster.kubectl("wait", "--for=delete", f"pv/{volume}", "--timeout=30s")
    assert cluster.run("ssh", "--", f"test -e {path}").code == 1
