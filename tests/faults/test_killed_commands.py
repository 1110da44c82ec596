"""`kill -9` of start, stop and delete at every moment they go through: the next command finds its way, nothing is lost, nothing leaks."""

from __future__ import annotations

import random
import signal

import pytest

from faults.patient import Patient, interrupt
from faults.table import RUNS, TABLE, of_this_sitting, sampled

KILLED = -signal.SIGKILL
# The short form: where the most is half done.
SHORT_START = ("create the box:after", "build the node:40", "create objects:before")


def whens() -> list[str]:
    """Before, after, and somewhere in the middle."""
    return sampled(["before", str(random.randrange(5, 300)), "after"])


def test_one_accident_after_the_other(patient: Patient) -> None:
    """The short form: no mending between the faults, so that all of them cost two whole starts."""
    patient.start()
    with TABLE.run("kill -9 of stop: undo firewall"):
        assert patient.ends("stop", "undo firewall:after").code == KILLED
        patient.ok("stop")
        assert patient.leaks() == []
    for at in SHORT_START:
        with TABLE.run(f"kill -9 of start: {at.rpartition(':')[0]}"):
            assert patient.ends("start", at).code == KILLED
    interrupt(patient, "start", "wait for pods:50:SIGINT")
    interrupt(patient, "stop", "end the node:50:SIGINT")
    patient.start()
    assert patient.lost() == []
    assert patient.run("status").code == 0


@pytest.mark.long
def test_start_killed_at_every_moment(patient: Patient) -> None:
    patient.ok("stop")
    moments = patient.moments("start")
    assert {"create the box", "start the node", "remember"} <= set(moments)
    for _ in range(RUNS):
        for moment in of_this_sitting(moments):
            for when in whens():
                kill_start(patient, f"{moment}:{when}")


@pytest.mark.long
def test_stop_killed_at_every_moment(patient: Patient) -> None:
    patient.start()
    moments = patient.moments("stop")
    assert {"end the node", "undo bridge", "remove context"} <= set(moments)
    for _ in range(RUNS):
        for moment in of_this_sitting(moments):
            for when in whens():
                kill_stop(patient, f"{moment}:{when}")


@pytest.mark.long
def test_ctrl_c_at_every_moment(patient: Patient) -> None:
    patient.ok("stop")
    starts = patient.moments("start")
    stops = patient.moments("stop")
    for _ in range(RUNS):
        for moment in starts:
            patient.ok("stop")  # a start of a cluster that is up already has fewer moments
            interrupt(patient, "start", f"{moment}:before:SIGINT")
        patient.start()
        # Each goes on where the last one was interrupted.
        for moment in stops:
            interrupt(patient, "stop", f"{moment}:before:SIGINT")
        patient.ok("stop")
        assert patient.leaks() == []
        patient.start()
        assert patient.lost() == []


def kill_start(patient: Patient, at: str) -> None:
    moment = at.rpartition(":")[0]
    with TABLE.run(f"kill -9 of start: {moment}"):
        patient.ok("stop")
        assert patient.ends("start", at).code in (KILLED, 0)  # 0: the command was over before its milliseconds were
        patient.start()
        assert patient.lost() == []
        assert patient.run("status").code == 0


def kill_stop(patient: Patient, at: str) -> None:
    moment = at.rpartition(":")[0]
    with TABLE.run(f"kill -9 of stop: {moment}"):
        patient.start()
        assert patient.ends("stop", at).code in (KILLED, 0)
        patient.ok("stop")
        assert patient.leaks() == []
        patient.start()
        assert patient.lost() == []
