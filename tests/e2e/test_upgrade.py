"""A cluster that takes the next minor version, with everything a user has in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import manifests
from support.builtversions import cluster_of
from support.minikube import Minikube, Place
from support.testimages import BUSYBOX, build_test_images

from e2e.conftest import identity, not_ready
from minikube.artifacts.catalogue import DEFAULT, version_set

BEFORE = version_set("v1.36")


@pytest.fixture(scope="module")
def older(place: Place, node_image: Path) -> Iterator[Minikube]:
    """A cluster of the minor version before, with a ConfigMap, a deployment from an image of the user's, and a file in a volume."""
    with cluster_of(BEFORE, place) as cluster:
        archive = build_test_images(place.directory, node_image=node_image)
        cluster.ssh("ctr -n k8s.io images import -", input=archive.read_bytes())
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"word": "kept"}}
        writer = manifests.pod("keeper", "echo precious >> /data/word; sleep 3600", claim="kept")
        cluster.apply(settings, manifests.claim("kept"), writer, *manifests.web("web"))
        cluster.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=90s")
        cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        yield cluster


def test_everything_is_there_after_an_upgrade_of_a_running_cluster(older: Minikube) -> None:
    assert not_ready(older.get("pods", "-A")["items"]) == []
    before = identity(older)
    image = older.ssh(f"crictl inspecti -q {BUSYBOX}")
    said = older.start(f"--kubernetes-version={DEFAULT.kubernetes}")
    assert f"from Kubernetes {BEFORE.kubernetes} to {DEFAULT.kubernetes}" in said
    system = older.get("pods", "-n", "kube-system")["items"]
    assert not_ready(system) == []
    images = [container["image"] for pod in system for container in pod["spec"]["containers"]]
    assert not [name for name in images if BEFORE.kubernetes in name]
    assert f"registry.k8s.io/etcd:{DEFAULT.etcd.lstrip('v')}-0" in images
    assert f"registry.k8s.io/coredns/coredns:{DEFAULT.coredns}" in images
    assert older.get("nodes")["items"][0]["status"]["nodeInfo"]["kubeletVersion"] == DEFAULT.kubernetes
    assert identity(older) == before
    assert older.get("configmap", "settings")["data"] == {"word": "kept"}
    assert older.ssh(f"crictl inspecti -q {BUSYBOX}") == image
    older.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=60s")
    # Once by the container of before, once by the one of after: the volume is the same.
    assert older.kubectl("exec", "keeper", "--", "cat", "/data/word").split() == ["precious", "precious"]
    older.kubectl("rollout", "status", "deployment/web", "--timeout=60s")


def test_there_is_no_way_back(older: Minikube) -> None:
    answer = older.run("start", f"--kubernetes-version={BEFORE.kubernetes}")
    assert answer.code == 106
    assert "K8S_DOWNGRADE_UNSUPPORTED" in answer.stderr
    assert f"Unable to safely downgrade existing Kubernetes {DEFAULT.kubernetes} cluster to {BEFORE.kubernetes}" in answer.stderr
    assert older.get("nodes")["items"][0]["status"]["nodeInfo"]["kubeletVersion"] == DEFAULT.kubernetes
