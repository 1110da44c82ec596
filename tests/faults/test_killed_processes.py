"""`kill -9` of what a cluster is made of, and of all of it at once: it heals by itself, or `status` says so and `start` mends it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support import host
from support.waiting import eventually

from faults.patient import Patient
from faults.table import RUNS, TABLE

HEALING = ("kubelet", "containerd", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns")


def kill(patient: Patient, name: str) -> None:
    victims = patient.pids(name)
    assert victims, f"there is no {name}"
    for process in victims:
        os.kill(process, signal.SIGKILL)
    eventually(lambda: not set(victims) & set(patient.pids(name)))


def heals(patient: Patient, name: str) -> None:
    with TABLE.run(f"kill -9 of {name}: heals by itself"):
        kill(patient, name)
        eventually(lambda: patient.pids(name), seconds=120, every=0.5)
        patient.healthy(seconds=180)
        assert patient.lost() == []


def test_etcd_and_kubelet_come_back(patient: Patient) -> None:
    patient.start()
    # In this order: a kubelet that has just begun wants answers of the API server, for up to a minute, before it looks at containers.
    for name in ("etcd", "kubelet"):
        heals(patient, name)


@pytest.mark.long
@pytest.mark.parametrize("name", HEALING)
def test_every_process_comes_back(patient: Patient, name: str) -> None:
    patient.start()
    for _ in range(RUNS):
        heals(patient, name)


@pytest.mark.long
def test_a_killed_shim_costs_its_container_only(patient: Patient) -> None:
    patient.start()
    for _ in range(RUNS):
        with TABLE.run("kill -9 of a shim: its pod comes back"):
            kill(patient, "containerd-shim-runc-v2")
            patient.healthy(seconds=240)
            assert patient.lost() == []


def end_supervisor(patient: Patient) -> None:
    """With it the kernel ends the whole node."""
    (supervisor,) = [int(entry.split()[0]) for entry in host.processes(patient) if "/etc/minikube/supervisor.py" in entry]
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: host.processes(patient) == [])
    answer = patient.run("status")
    assert "host: Stopped" in answer.stdout
    assert answer.code == 7


@pytest.mark.long
def test_a_killed_supervisor_is_seen_and_mended(patient: Patient) -> None:
    patient.start()
    for _ in range(RUNS):
        with TABLE.run("kill -9 of the supervisor: status says so, start mends it"):
            end_supervisor(patient)
            patient.start()
            assert patient.lost() == []


def reboot(patient: Patient) -> None:
    """What a power cut leaves: every process gone at once, and everything that lives in memory: links, tables, groups, /run."""
    for entry in host.processes(patient):
        try:
            os.kill(int(entry.split()[0]), signal.SIGKILL)
        except ProcessLookupError:
            continue
    eventually(lambda: host.processes(patient) == [])
    name = f"mk-{patient.host_id}"

    def tool(*words: str) -> None:
        subprocess.run(["chroot", str(patient.image), *words], capture_output=True, check=False)

    tool("ip", "link", "del", name)
    tool("nft", "delete", "table", "ip", name)
    # The kernel takes a moment to let go of a group whose processes have just ended.
    for group in sorted((path for path in host.cgroups() if patient.host_id in path), reverse=True):
        eventually(lambda group=group: Path(group).rmdir() is None)
    shutil.rmtree(patient.machine / "run")
    shutil.rmtree(patient.machine / "runc")


def test_start_just_works_after_a_reboot(patient: Patient) -> None:
    patient.start()
    for _ in range(max(RUNS, 1)):
        with TABLE.run("reboot: all processes, links, tables, groups and sockets gone"):
            end_supervisor(patient)
            reboot(patient)
            assert "host: Stopped" in patient.run("status").stdout
            patient.start()
            assert patient.lost() == []
            assert patient.run("status").code == 0


@pytest.mark.long
def test_stop_and_delete_after_a_reboot(patient: Patient) -> None:
    with TABLE.run("reboot, then stop"):
        patient.start()
        reboot(patient)
        patient.ok("stop")
        assert patient.leaks() == []
        patient.start()
        assert patient.lost() == []
