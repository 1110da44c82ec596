"""Ids for pods in user namespaces of their own: within those of the node, and enough of them, or the kubelet would not start."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from minikube.host.shiftedids import LARGE, MEDIUM, SMALL
from minikube.kubernetes import hostusers
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.kubernetes.extraconfig import ExtraOption


def spec(max_pods: str = "") -> ClusterSpec:
    options = (ExtraOption("kubelet", "max-pods", max_pods),) if max_pods else ()
    return ClusterSpec(version="v1.37.1", node_name="node", node_ip="192.0.2.2", extra_options=options)


@pytest.mark.parametrize(
    ("max_pods", "ids", "end"),
    [
        ("", LARGE, LARGE),
        ("255", LARGE, LARGE),
        ("256", LARGE, 1 << 32),
        ("", MEDIUM, MEDIUM),
        ("127", MEDIUM, MEDIUM),
        ("128", MEDIUM, 1 << 32),
        ("", SMALL, 1 << 32),
        ("", hostusers.EVERY_ID, 1 << 32),
    ],
)
def test_the_kubelet_is_told_ids_for_every_pod(tmp_path: Path, max_pods: str, ids: int, end: int) -> None:
    program = tmp_path / "getsubids"
    program.write_text(hostusers.getsubids(spec(max_pods), ids=ids))
    for words in ([], ["-g"]):  # it asks for users and for groups, and they must be the same
        told = subprocess.run(["sh", str(program), *words, "kubelet"], capture_output=True, text=True, check=True).stdout
        number, user, first, count = told.split()
        assert (number, user, int(first) % 65536, int(first) + int(count)) == ("0:", "kubelet", 0, end)
        assert int(first) >= 65536
    assert (end - 65536) // 65536 >= int(max_pods or 110)


def test_pods_are_refused_where_the_nodes_ids_do_not_suffice() -> None:
    assert [hostusers.ids_suffice(spec(pods), LARGE) for pods in ("", "255", "256", "nonsense")] == [True, True, False, True]
    assert [hostusers.ids_suffice(spec(), ids) for ids in (LARGE, MEDIUM, SMALL)] == [True, True, False]
