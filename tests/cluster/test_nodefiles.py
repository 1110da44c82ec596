"""Files of the node that we share with its user."""

from minikube.cluster.nodefiles import hosts
from minikube.kubernetes.clusterspec import ClusterSpec

SPEC = ClusterSpec(version="v1.37.1", node_name="box", node_ip="192.168.49.2")


def test_our_names_are_there() -> None:
    lines = hosts(b"", SPEC, "192.168.49.1").splitlines()
    assert "192.168.49.2\tcontrol-plane.minikube.internal" in lines
    assert "192.168.49.1\thost.minikube.internal" in lines


def test_what_a_user_added_survives_and_ours_are_replaced() -> None:
    before = b"127.0.0.1\tlocalhost\n10.9.9.9 my.registry\n192.168.1.2\tcontrol-plane.minikube.internal\n"
    lines = hosts(before, SPEC, "192.168.49.1").splitlines()
    assert "10.9.9.9 my.registry" in lines
    assert "192.168.1.2\tcontrol-plane.minikube.internal" not in lines
    assert hosts("\n".join(lines).encode(), SPEC, "192.168.49.1").splitlines() == lines
