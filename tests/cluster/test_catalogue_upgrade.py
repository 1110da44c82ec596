"""After an upgrade of the catalogue, the next start takes the new components, also for a cluster that runs; so it does an authority."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.components import Components
from minikube.cluster.boot import Boot
from minikube.drivers.native.driver import NativeDriver
from minikube.drivers.values import File
from minikube.kubernetes.clusterspec import KUBEADM_FILE, ClusterSpec
from minikube.profiles.clusterconfig import new_cluster_config

STORE = Path("/store/entries")
PARTS = Components(
    DEFAULT.kubernetes,
    *(STORE / f"{name}-0123" / "content" for name in ("node-image", "node-binaries", "prepared", "seed")),
    runc=STORE / "runc-v1-0123/content/runc",
    kubectl=STORE / "kubernetes-v1-0123/content/kubectl",
)


@pytest.fixture(autouse=True)
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    file = tmp_path / ".minikube/profiles/minikube/ca.crt"
    file.parent.mkdir(parents=True)
    file.write_text("one")
    return file


class Gateway:
    gateway = "192.0.2.1"


def fingerprint(components: Components) -> str:
    config = new_cluster_config("minikube")
    config.KubernetesConfig.KubernetesVersion = DEFAULT.kubernetes
    boot = Boot(config, NativeDriver("minikube"), components, DEFAULT, None)  # type: ignore[arg-type] # a report is not written
    boot.node = Gateway()  # type: ignore[assignment]
    boot.spec = ClusterSpec(version=DEFAULT.kubernetes, node_name="minikube", node_ip="192.0.2.2")
    boot.files = {KUBEADM_FILE: File(b"")}
    return boot.fingerprint()


@pytest.mark.parametrize(
    "newer",
    [
        PARTS._replace(runc=STORE / "runc-v2-4567/content/runc"),
        PARTS._replace(node_binaries=STORE / "node-binaries-4567/content"),
        PARTS._replace(node_image=STORE / "node-image-4567/content"),
    ],
    ids=["runc", "containerd and Kubernetes", "node image"],
)
def test_a_newer_component_does_not_fit_a_running_node(newer: Components) -> None:
    assert fingerprint(newer) != fingerprint(PARTS)


def test_another_authority_does_not_fit_a_running_node(authority: Path) -> None:
    before = fingerprint(PARTS)
    authority.write_text("another")
    assert fingerprint(PARTS) != before


def test_the_same_components_in_another_store_do() -> None:
    moved = Components(PARTS[0], *(Path("/elsewhere") / path.relative_to("/store") for path in PARTS[1:]))
    assert fingerprint(moved) == fingerprint(PARTS)
