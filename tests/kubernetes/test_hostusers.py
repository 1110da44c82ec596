"""Ids for pods in user namespaces of their own: within those of the node, and enough of them, or the kubelet would not start."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from minikube.host.shiftedids import COUNT
from minikube.kubernetes import hostusers
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.kubernetes.extraconfig import ExtraOption


def spec(max_pods: str = "") -> ClusterSpec:
    options = (ExtraOption("kubelet", "max-pods", max_pods),) if max_pods else ()
    return ClusterSpec(version="v1.37.1", node_name="node", node_ip="192.0.2.2", extra_options=options)


@pytest.mark.parametrize(
    ("max_pods", "enclosed", "end"), [("", True, COUNT), ("255", True, COUNT), ("256", True, 1 << 32), ("", False, 1 << 32)]
)
def test_the_kubelet_is_told_ids_for_every_pod(tmp_path: Path, max_pods: str, enclosed: bool, end: int) -> None:
    program = tmp_path / "getsubids"
    program.write_text(hostusers.getsubids(spec(max_pods), in_user_namespace=enclosed))
    for words in ([], ["-g"]):  # it asks for users and for groups, and they must be the same
        told = subprocess.run(["sh", str(program), *words, "kubelet"], capture_output=True, text=True, check=True).stdout
        number, user, first, count = told.split()
        assert (number, user, int(first) % 65536, int(first) + int(count)) == ("0:", "kubelet", 0, end)
        assert int(first) >= 65536
    assert (end - 65536) // 65536 >= int(max_pods or 110)


def test_pods_are_refused_where_the_nodes_ids_do_not_suffice() -> None:
    assert [hostusers.ids_suffice(spec(pods)) for pods in ("", "255", "256", "nonsense")] == [True, True, False, True]


def test_the_kubelets_user_is_added_once_and_others_stay() -> None:
    once = hostusers.users(b"root:x:0:0:root:/root:/bin/bash\n")
    assert [line.partition(":")[0] for line in once.splitlines()] == ["root", "kubelet"]
    assert hostusers.users(once.encode()) == once
    theirs = "kubelet:x:5:5::/home:/bin/sh\n"
    assert hostusers.users(theirs.encode()) == theirs
