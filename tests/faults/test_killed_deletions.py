"""`kill -9` of delete: a second one finishes the work, or `start` begins a new cluster; nothing leaks either way."""

from __future__ import annotations

import random
import signal

import pytest
from support.nodeimage import fresh_name

from faults.patient import Patient, interrupt
from faults.table import RUNS, TABLE, of_this_sitting, sampled

KILLED = -signal.SIGKILL
# Those of a running cluster, in order; a test compares.
MOMENTS = (
    "end the node",
    "undo container",
    "undo cgroup",
    "undo firewall",
    "undo bridge",
    "remove files",
    "remove profile",
    "remove context",
)


def test_start_after_a_killed_delete(patient: Patient) -> None:
    kill_delete(patient, "remove files:5", "start")


@pytest.mark.long
def test_delete_killed_at_every_moment(patient: Patient) -> None:
    for _ in range(RUNS):
        for moment in of_this_sitting(MOMENTS):
            for when in sampled(["before", str(random.randrange(1, 100)), "after"]):
                kill_delete(patient, f"{moment}:{when}", random.choice(("delete", "start")))


@pytest.mark.long
def test_delete_interrupted_at_every_moment(patient: Patient) -> None:
    doomed = Patient(patient.place, fresh_name(), patient.image)
    doomed.start()
    # Each goes on where the last one was interrupted.
    for moment in MOMENTS:
        interrupt(doomed, "delete", f"{moment}:before:SIGINT")
    assert doomed.run("delete").code == 0
    assert doomed.leaks() == []


@pytest.mark.long
def test_these_are_the_moments_of_delete(patient: Patient) -> None:
    doomed = Patient(patient.place, fresh_name(), patient.image)
    doomed.start()
    assert [moment for moment in doomed.moments("delete") if moment != "undo sysctl"] == list(MOMENTS)


def kill_delete(patient: Patient, at: str, next_command: str) -> None:
    doomed = Patient(patient.place, fresh_name(), patient.image)
    with TABLE.run(f"kill -9 of delete: {at.rpartition(':')[0]}"):
        doomed.start()
        assert doomed.ends("delete", at).code in (KILLED, 0)
        if next_command == "start":
            doomed.start()
            assert doomed.run("status").code == 0
        assert doomed.run("delete").code == 0
        assert doomed.leaks() == []
        assert not list(doomed.place.home.rglob(f"*{doomed.profile}*"))
        assert doomed.profile not in doomed.place.kubeconfig.read_text()
