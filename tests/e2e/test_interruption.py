"""A command that is cut short loses nothing and blocks nothing."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import host
from support.minikube import Minikube, read_until, temporary_place
from support.nodeimage import fresh_name
from support.waiting import eventually

from e2e.conftest import not_ready

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
def minikube(node_image: Path) -> Iterator[Minikube]:
    """A profile in a home of its own: whatever is broken here stays here."""
    with temporary_place() as place:
        yield Minikube(place, fresh_name())


def killed_start(minikube: Minikube, moment: str, *, file: str = "") -> None:
    """A `start` that is killed without warning at that line, or as soon as a file of the machine is there after it."""
    process = minikube.begin("start")
    read_until(process, moment, seconds=120)
    if file:
        eventually((minikube.machine / file).exists, every=0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL


def test_start_finishes_what_a_killed_start_began(minikube: Minikube) -> None:
    for moment in MOMENTS:
        killed_start(minikube, moment)
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
def test_delete_removes_what_a_killed_start_left(minikube: Minikube, node_image: Path, moment: str) -> None:
    killed_start(minikube, moment)
    assert_deleted(minikube, node_image)


def test_ctrl_c_ends_start_with_one_line(minikube: Minikube, node_image: Path) -> None:
    process = minikube.begin("start")
    read_until(process, "Booting up control plane", seconds=120)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, out + err
    assert "Traceback" not in out + err
    assert len(err.split("\n\n")[-1].strip().splitlines()) == 1, err
    assert "Interrupted" in err
    assert f'The files of "{minikube.profile}" are kept' in err
    assert_deleted(minikube, node_image)


@pytest.mark.parametrize("gone", ["native.json", "host-changes.json", "runc", "bundle/config.json", "state/etc", "profile"])
def test_delete_manages_without_parts_of_the_machine(minikube: Minikube, node_image: Path, gone: str) -> None:
    killed_start(minikube, "Booting up control plane", file="run/control.sock")
    victim = minikube.place.home / "profiles" / minikube.profile if gone == "profile" else minikube.machine / gone
    if victim.is_dir():
        shutil.rmtree(victim, ignore_errors=True)
    else:
        victim.unlink()
    assert_deleted(minikube, node_image)


def assert_deleted(minikube: Minikube, node_image: Path) -> None:
    answer = minikube.run("delete")
    assert answer.code == 0, answer
    assert host.nothing(left := host.traces(minikube, node_image)), left
    assert not minikube.machine.exists()
