"""`minikube cache pins`: what was trusted on first use."""

from __future__ import annotations

import json
from pathlib import Path

from support.program import Program

from minikube.artifacts.pins import Pins


def test_every_first_use_is_listed(minikube: Program, tmp_path: Path) -> None:
    store = {"MINIKUBE_STORE": str(tmp_path / "store")}
    assert "Nothing was trusted on first use" in minikube("cache", "pins", **store).stdout
    digest = "sha256:" + "5" * 64
    Pins(tmp_path / "store").hold("v1.37.1/bin/linux/amd64/kubelet sha256", digest)
    shown = minikube("cache", "pins", **store).stdout
    assert "v1.37.1/bin/linux/amd64/kubelet sha256" in shown
    assert digest in shown
    assert str(tmp_path / "store" / "pins.json") in shown
    assert json.loads(minikube("cache", "pins", "-o", "json", **store).stdout) == {"v1.37.1/bin/linux/amd64/kubelet sha256": digest}
    assert minikube("cache", "pins", "-o", "yaml", **store).returncode == 14
