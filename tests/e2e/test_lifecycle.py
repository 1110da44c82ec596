"""Stop and start again, and two clusters at once."""

from __future__ import annotations

from pathlib import Path

from support import host

from e2e.conftest import Cluster, Restart, not_ready
from e2e.pair import Pair
from minikube.node import forerunners


def test_stop_leaves_nothing_running(restart: Restart) -> None:
    assert restart.stop.code == 0, restart.stop
    assert host.nothing(restart.traces), restart.traces


def test_start_brings_the_same_cluster_back(cluster: Cluster, restart: Restart) -> None:
    assert restart.start.code == 0, restart.start
    assert restart.identity_after == restart.identity
    assert not_ready(cluster.get("pods", "-n", "kube-system")["items"]) == []


def test_the_kubelet_takes_over_what_ran_before_it(cluster: Cluster, restart: Restart) -> None:
    """Also what has a token that expired while the cluster was stopped: it ran with one that is signed again."""
    assert sorted(restart.expired_tokens) == ["coredns", "kube-proxy", "storage-provisioner"]
    own = (*forerunners.FIRST, *forerunners.THEN)
    running = [container for container in restart.first_containers["containers"] if container["metadata"]["name"] in own]
    assert sorted(container["metadata"]["name"] for container in running) == sorted(own)
    assert all(container["id"] in restart.started_before_the_kubelet for container in running), restart.started_before_the_kubelet
    for container in running:
        pod = cluster.get("pod", container["labels"]["io.kubernetes.pod.name"], "-n", "kube-system")
        status = pod["status"]["containerStatuses"][0]
        assert status["containerID"] == f"containerd://{container['id']}"
        assert status["restartCount"] == container["metadata"].get("attempt", 0) >= 1


def test_pods_of_users_come_back(cluster: Cluster, restart: Restart) -> None:
    cluster.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=60s")


def test_two_clusters_start_side_by_side(pair: Pair) -> None:
    assert {answer.code for answer in pair.answers} == {0}, pair.answers
    assert len({address.rpartition(".")[0] for address in pair.addresses}) == 2
    assert [not_ready(pods) for pods in pair.pods] == [[], []]


def test_deleting_one_cluster_leaves_the_other_well(pair: Pair, node_image: Path) -> None:
    assert pair.deletion.code == 0, pair.deletion
    assert host.nothing(pair.traces_of_deleted), pair.traces_of_deleted
    assert pair.kept.run("status").code == 0
    assert not_ready(pair.kept.get("pods", "-A")["items"]) == []


def test_no_two_clusters_share_an_identity(pair: Pair) -> None:
    """Tools take the uid of kube-system for the cluster's own; tokens of one cluster must be worth nothing in another."""
    assert len(set(pair.uids)) == 2
    assert len(set(pair.signing_keys)) == 2
    assert len(set(pair.join_tokens)) == 2


def test_every_profile_has_its_own_nodes(pair: Pair) -> None:
    (node,) = pair.kept.get("nodes")["items"]
    assert node["metadata"]["name"] == pair.kept.profile
