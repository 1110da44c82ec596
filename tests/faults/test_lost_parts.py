"""Parts of a stopped machine that somebody removed: `start` makes them again, and what was not removed is not lost."""

from __future__ import annotations

import shutil

import pytest

from faults.patient import Patient
from faults.table import RUNS, TABLE

# Everything of a stopped machine that can be made again from the rest.
PARTS = (
    "native.json",
    "bundle",
    "images",
    "run",
    "config.json",
    "state/etc",
    "state/var/lib/minikube/certs",
    "state/var/lib/kubelet",
    "state/var/lib/containerd",
    "state/var/log",
    "state/opt",
)


def remove(patient: Patient, part: str) -> None:
    victim = patient.machine / part
    if victim.is_dir():
        shutil.rmtree(victim)
    else:
        victim.unlink()


def test_without_its_data_it_is_not_started_anew(patient: Patient) -> None:
    """They may be on a disk that is not there at the moment: a new cluster in their place is nobody's wish."""
    with TABLE.run("all data removed from a stopped machine, then start"):
        patient.start()
        patient.ok("stop")
        data, elsewhere = patient.machine / "state/var", patient.machine / "elsewhere"
        data.rename(elsewhere)
        for _ in range(2):
            answer = patient.run("start")
            assert answer.code == 80, answer
            assert f"is gone: there is nothing of it in {data}" in answer.stderr
            assert "minikube delete" in answer.stderr
        assert not data.exists()
        elsewhere.rename(data)
        patient.start()
        assert patient.lost() == []


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_start_makes_it_again(patient: Patient, part: str) -> None:
    for _ in range(RUNS):
        with TABLE.run(f"{part} removed from a stopped machine, then start"):
            patient.start()
            patient.ok("stop")
            remove(patient, part)
            patient.start()
            assert patient.lost() == []
            assert patient.run("status").code == 0


@pytest.mark.long
@pytest.mark.parametrize("part", ["runc", "run", "bundle", "host-changes.json"])
def test_a_running_machine_is_stopped_without_it(patient: Patient, part: str) -> None:
    for _ in range(RUNS):
        with TABLE.run(f"{part} removed from a running machine, then stop and start"):
            patient.start()
            remove(patient, part)
            patient.ok("stop")
            assert patient.leaks() == []
            patient.start()
            assert patient.lost() == []


@pytest.mark.long
def test_a_lost_database_is_said_and_the_cluster_is_whole(patient: Patient) -> None:
    """What was in it is gone with it; volumes are files of their own."""
    with TABLE.run("etcd's directory removed from a stopped machine, then start"):
        patient.start()
        volume = patient.volume()
        patient.ok("stop")
        remove(patient, "state/var/lib/minikube/etcd")
        answer = patient.run("start", timeout=300)
        assert answer.code == 0, answer
        assert "is gone: it starts empty" in answer.stdout + answer.stderr
        assert patient.run("status").code == 0
        assert patient.ssh(f"cat {volume}/word").strip() == patient.word
        patient.write_word()
        assert patient.lost() == []
