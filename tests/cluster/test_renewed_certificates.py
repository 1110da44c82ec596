"""The certificates of a node: what is replaced, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from minikube.cluster import certificates
from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.kubernetes import pki
from minikube.kubernetes.certificates import Identity
from minikube.kubernetes.clusterspec import ClusterSpec

EXPIRED = "kubeadm certificates have expired. Generating new ones..."


class KeptFiles:
    """What of a node is its files."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}

    def get(self, *paths: str) -> dict[str, File]:
        return {path: self.files[path] for path in paths if path in self.files}

    def put(self, files: Mapping[str, File]) -> None:
        self.files |= files

    get_own, put_own = get, put


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    return cast("Node", KeptFiles())


def ensured(node: Node, **identity: Any) -> tuple[list[str], list[str]]:
    """Files that are new, and warnings."""
    warnings: list[str] = []
    spec = ClusterSpec(version="v1.37.1", node_name="test", node_ip="192.0.2.2")
    fresh = certificates.ensure(node, spec, Identity("test", "test", "192.0.2.2", **identity), warnings.append)
    return fresh, warnings


def test_certificates_that_have_expired_are_replaced_and_named(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pki, "BACKDATE", timedelta(hours=2))
        made, warnings = ensured(node, lifetime=timedelta(seconds=-60))
    assert "/var/lib/minikube/certs/apiserver.crt" in made
    assert warnings == []
    renewed, warnings = ensured(node)
    assert "/var/lib/minikube/certs/apiserver.crt" in renewed
    assert warnings == [EXPIRED]
    assert ensured(node) == ([], [])
