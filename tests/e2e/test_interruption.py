"""A command that is cut short loses nothing and blocks nothing."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import host
from support.minikube import Minikube, Place, read_until
from support.waiting import eventually

from e2e.conftest import fresh_name, not_ready

# Lines of `start`, in their order: the box is being made, the node starts, the API answers.
MOMENTS = (
    "Running natively on this host",
    "Preparing Kubernetes",
    "Booting up control plane",
    "Configuring RBAC rules",
    "Verifying Kubernetes",
)
INTERRUPTED = 11


@pytest.fixture
def minikube(place: Place, node_image: Path) -> Iterator[Minikube]:
    fresh = Minikube(place, fresh_name())
    yield fresh
    fresh.run("delete")


def begin_start(minikube: Minikube, moment: str) -> int:
    """Kill `start` without warning when it gets to that line; gives its exit code."""
    process = minikube.begin("start")
    read_until(process, moment, seconds=120)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    return process.returncode


def test_start_finishes_what_a_killed_start_began(minikube: Minikube) -> None:
    for moment in MOMENTS:
        assert begin_start(minikube, moment) == -signal.SIGKILL
    minikube.start()
    assert not_ready(minikube.get("pods", "-A")["items"]) == []
    # Everything is there, also what the killed ones had still before them.
    labels = minikube.get("node", minikube.profile)["metadata"]["labels"]
    assert labels.get("minikube.k8s.io/primary") == "true"
    minikube.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config")
    minikube.kubectl("-n", "kube-public", "get", "configmap", "cluster-info")
    minikube.kubectl("get", "storageclass", "standard")
    assert minikube.run("status").code == 0


@pytest.mark.parametrize("moment", ["Running natively on this host", "Configuring RBAC rules"])
def test_start_once_killed_can_be_started_or_deleted(minikube: Minikube, node_image: Path, moment: str) -> None:
    begin_start(minikube, moment)
    answer = minikube.run("delete")
    assert answer.code == 0, answer
    found = eventually(lambda: (left := host.traces(minikube, node_image), host.nothing(left))[1], seconds=5)
    assert found
    assert not minikube.machine.exists()


def test_ctrl_c_ends_start_with_one_line(minikube: Minikube, node_image: Path) -> None:
    process = minikube.begin("start")
    read_until(process, "Booting up control plane", seconds=120)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, out + err
    assert "Traceback" not in out + err
    assert len(err.split("\n\n")[-1].strip().splitlines()) == 1, err
    assert "Interrupted" in err
    assert minikube.run("delete").code == 0
    assert host.nothing(left := host.traces(minikube, node_image)), left
    assert not minikube.machine.exists()


@pytest.mark.parametrize("gone", ["native.json", "host-changes.json", "runc", "bundle", "state/etc", "profile"])
def test_delete_manages_without_parts_of_the_machine(minikube: Minikube, node_image: Path, gone: str) -> None:
    begin_start(minikube, "Booting up control plane")
    victim = minikube.place.home / "profiles" / minikube.profile if gone == "profile" else minikube.machine / gone
    if victim.is_dir():
        shutil.rmtree(victim, ignore_errors=True)
    else:
        victim.unlink()
    answer = minikube.run("delete")
    assert answer.code == 0, answer
    assert host.nothing(left := host.traces(minikube, node_image)), left
    assert not minikube.machine.exists()
