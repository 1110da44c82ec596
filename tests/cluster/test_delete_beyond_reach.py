"""`delete` of a machine that nobody here can log in to any more: what is here goes, and what stays there is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.program import Program


@pytest.fixture
def minikube(tmp_path: Path) -> Program:
    return Program(tmp_path)


def remote_cluster(minikube: Program, name: str, *, key: Path) -> Path:
    """As a start on another machine leaves it, which has been switched off since."""
    minikube.add_profile(name)
    machine = minikube.home / "machines" / name
    machine.mkdir(parents=True)
    own = {"MachineName": name, "IPAddress": "127.0.0.127", "SSHUser": "root", "SSHPort": 1, "SSHKeyPath": str(key)}
    (machine / "config.json").write_text(json.dumps({"ConfigVersion": 3, "Driver": own, "DriverName": "ssh", "Name": name}))
    (machine / "ssh.json").write_text(json.dumps({"user": "root", "sudo": "", "address": "192.168.49.2", "gateway": "192.168.49.1"}))
    context = {"context": {"cluster": name, "user": name}, "name": name}
    Path(minikube.environment["KUBECONFIG"]).write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "contexts": [context]}))
    return machine


def test_a_lost_key_leaves_nothing_here_and_says_what_is_there(minikube: Program, tmp_path: Path) -> None:
    machine = remote_cluster(minikube, "far", key=tmp_path / "lost")
    done = minikube.inside("delete", "-p", "far")
    assert (done.returncode, "Removed all traces" in done.stdout) == (70, False), done
    assert f"127.0.0.127 was not reached: the key {tmp_path / 'lost'} does not exist" in done.stderr
    assert "/var/lib/minikube-nodes/" in done.stderr
    assert not machine.exists()
    assert not (minikube.home / "profiles/far").exists()
    assert "far" not in Path(minikube.environment["KUBECONFIG"]).read_text()
    assert "does not exist, nothing to delete" in minikube.inside("delete", "-p", "far").stdout


def test_the_others_are_deleted_too(minikube: Program, tmp_path: Path) -> None:
    for name in ("far", "farther"):
        remote_cluster(minikube, name, key=tmp_path / "lost")
    done = minikube.inside("delete", "--all")
    assert done.returncode == 70, done
    assert not list((minikube.home / "profiles").iterdir())


def test_a_machine_that_does_not_answer_today_is_kept(minikube: Program, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("")
    key.chmod(0o600)
    machine = remote_cluster(minikube, "far", key=key)
    done = minikube.inside("delete", "-p", "far")
    assert (done.returncode, machine.exists()) == (70, True), done
