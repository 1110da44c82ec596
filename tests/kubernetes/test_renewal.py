"""Certificates renewed in the node itself: the same names, uses and keys, another life."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from support.nodeimage import put_openssl

from minikube.kubernetes import pki
from minikube.kubernetes.certificates import Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.componentconf import ensure_component_confs
from minikube.node import renewal

LIFETIME = 90
IDENTITY = Identity("dev", "dev", "10.5.0.2", lifetime=timedelta(seconds=LIFETIME))


@pytest.fixture
def node(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is in a node, and its own openssl."""
    tools = tmp_path / "tools"
    tools.mkdir()
    put_openssl(tools)
    (tools / "pkill").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/ended\n')
    (tools / "pkill").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    authorities = ensure_authorities("dev")
    ensure_cluster_certificates(IDENTITY, node_directory=tmp_path / "certs", authorities=authorities)
    ensure_component_confs(
        tmp_path / "kubernetes", authority=authorities.cluster, node_name="dev", node_ip="10.5.0.2", port=8443, cluster_name="mk",
        lifetime=IDENTITY.lifetime,
    )  # fmt: skip
    return tmp_path


def renew(node: Path, monkeypatch: pytest.MonkeyPatch, *, after: float) -> None:
    """Run it as if so many seconds had passed."""
    real: Callable[[], float] = renewal.time.time
    with monkeypatch.context() as patch:
        patch.setattr(renewal.time, "time", lambda: real() + after)
        renewal.main(str(node / "certs"), str(node / "kubernetes"), LIFETIME)


def contents(node: Path) -> dict[str, bytes]:
    return {str(path.relative_to(node)): path.read_bytes() for path in node.rglob("*") if path.suffix in (".crt", ".key", ".conf")}


def test_what_has_time_is_left_alone(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(node)
    renew(node, monkeypatch, after=LIFETIME / 3)
    assert contents(node) == before


def test_everything_is_renewed_in_time_and_says_the_same(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(node)
    renew(node, monkeypatch, after=LIFETIME * 0.8)
    after = contents(node)
    assert "could not" not in capsys.readouterr().out
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {f"certs/{name}.crt" for name in renewal.LEAVES} | {f"kubernetes/{name}" for name in renewal.CONFS}
    for name in renewal.LEAVES:
        old, new = (x509.load_pem_x509_certificate(state[f"certs/{name}.crt"]) for state in (before, after))
        assert new.subject == old.subject
        assert new.public_key() == old.public_key()
        assert {str(one.value) for one in new.extensions} >= {str(one.value) for one in old.extensions}
        assert new.not_valid_after_utc > old.not_valid_after_utc + timedelta(seconds=LIFETIME / 2)
        assert new.serial_number != old.serial_number
    assert (node / "ended").read_text().split() == ["-x", "kube-controller", "-x", "kube-scheduler"]


def test_start_takes_the_renewed_ones_as_they_are(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renew(node, monkeypatch, after=LIFETIME * 0.8)
    certificate, key = (node / "certs/kubelet.crt").read_bytes(), (node / "certs/kubelet.key").read_bytes()
    request = pki.LeafRequest(
        "system:node:dev", "system:nodes", server=True, names=("dev", "localhost"), addresses=("10.5.0.2", "127.0.0.1"),
        lifetime=IDENTITY.lifetime,
    )  # fmt: skip
    assert pki.fits(pki.Issued(certificate, key), ensure_authorities("dev").cluster, request)


def test_one_damaged_certificate_does_not_stop_the_others(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (node / "certs/etcd/peer.crt").write_text("nonsense")
    renew(node, monkeypatch, after=LIFETIME * 0.8)
    said = capsys.readouterr().out
    assert "etcd/peer.crt could not be renewed" in said
    assert "scheduler.conf renewed" in said


def test_short_lives_are_not_renewed_at_every_start(node: Path) -> None:
    assert ensure_cluster_certificates(IDENTITY, node_directory=node / "certs", authorities=ensure_authorities("dev")) == []
    assert datetime.now(UTC) < x509.load_pem_x509_certificate((node / "certs/kubelet.crt").read_bytes()).not_valid_after_utc


def test_it_runs_with_the_standard_library_alone() -> None:
    """In a node there is nothing else."""
    imported = {
        line.split()[1].partition(".")[0]
        for line in Path(renewal.__file__).read_text().splitlines()
        if line.startswith(("import ", "from "))
    }
    assert imported <= sys.stdlib_module_names
