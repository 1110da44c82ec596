"""Pods that waiting does not help, told apart from those that it does."""

from __future__ import annotations

import time
from typing import Any

import pytest

from minikube.kubernetes import crashes
from minikube.kubernetes.api import ApiError
from minikube.kubernetes.crashes import Watchdog, shortened, why_unsteady
from minikube.output.knownproblems import explained
from minikube.output.reason import Reason

NOW = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))
LONG_AGO = "2026-01-01T00:00:00Z"
TOO_MANY = 'E1118 "command failed" err="fsnotify watcher init: too many open files"'


class Logs:
    """What the API server has of a container's log."""

    def __init__(self, words: str) -> None:
        self.words = words

    def text(self, path: str) -> str:
        assert "/log?container=c&" in path
        if not self.words:
            raise ApiError(400, "BadRequest", "no log")
        return self.words


def pod(state: dict[str, Any], ended: dict[str, Any] | None = None) -> dict[str, Any]:
    status = {"name": "c", "state": state, "lastState": {"terminated": ended} if ended else {}}
    return {"metadata": {"name": "kube-proxy-x", "namespace": "kube-system"}, "status": {"containerStatuses": [status]}}


def crashing(delay: str, finished: str = NOW, message: str = "") -> dict[str, Any]:
    waiting = {"reason": "CrashLoopBackOff", "message": f"back-off {delay} restarting failed container=c pod=kube-proxy-x"}
    return pod({"waiting": waiting}, {"exitCode": 1, "finishedAt": finished, "message": message})


def watchdog(words: str = TOO_MANY, *, booted: float = 0) -> Watchdog:
    return Watchdog(Logs(words), booted)  # type: ignore[arg-type]


@pytest.mark.parametrize("delay", ["20s", "1m20s", "5m0s"])
def test_a_container_that_ended_three_times_is_named_with_its_last_words(delay: str) -> None:
    with pytest.raises(Reason, match="pod kube-proxy-x: c ends again and again with exit code 1") as failure:
        watchdog().look([crashing(delay)])
    assert "too many open files" in failure.value.message
    known = explained(failure.value)
    assert (known.id, known.exit_code) == ("HOST_INOTIFY_LIMIT", 38)


def test_words_of_a_container_without_a_log_are_the_kubelets() -> None:
    with pytest.raises(Reason, match='exec: "/nothing": no such file'):
        watchdog("").look([crashing("20s", message='failed to exec: "/nothing": no such file')])


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (crashing("10s"), TOO_MANY),  # twice may be bad luck
        (crashing("20s"), "dial tcp 10.96.0.1:443: connect: connection refused"),
        (pod({"running": {"startedAt": NOW}}), TOO_MANY),
        (pod({"waiting": {"reason": "ContainerCreating"}}), TOO_MANY),
        (pod({"waiting": {"reason": "ErrImagePull", "message": "not found"}}), TOO_MANY),  # not for long yet
    ],
)
def test_others_are_waited_for(found: dict[str, Any], words: str) -> None:
    watchdog(words).look([found])


def test_what_the_api_tells_of_the_time_before_a_restart_does_not_count() -> None:
    watchdog(booted=time.time()).look([crashing("5m0s", finished=LONG_AGO)])
    with pytest.raises(Reason):
        watchdog().look([crashing("5m0s", finished=LONG_AGO)])


def test_a_container_that_cannot_be_made_for_some_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = pod({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image: manifest unknown"}})
    looking = watchdog()
    looking.look([stuck])
    clock = time.monotonic() + crashes.PATIENCE_SECONDS + 1
    monkeypatch.setattr(crashes.time, "monotonic", lambda: clock)
    with pytest.raises(Reason, match="c is ImagePullBackOff: Back-off pulling image") as failure:
        looking.look([stuck])
    assert explained(failure.value).exit_code == 45


def test_a_container_that_has_just_ended_has_to_run_for_a_while() -> None:
    def at(seconds_ago: float) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))

    booted = time.time() - 30
    ended = {"exitCode": 1, "finishedAt": at(2)}
    assert "has just ended" in why_unsteady(pod({"running": {"startedAt": at(0)}}, ended), booted)
    assert why_unsteady(pod({"running": {"startedAt": at(10)}}, {"exitCode": 1, "finishedAt": at(12)}), booted) == ""
    assert why_unsteady(pod({"running": {"startedAt": at(0)}}, {"exitCode": 0, "finishedAt": LONG_AGO}), booted) == "", "before this start"
    assert why_unsteady(pod({"running": {"startedAt": at(0)}}), booted) == ""


def test_last_words_are_as_much_as_a_person_wants_to_read() -> None:
    assert shortened("usage\n--help\n--version\nError: unknown flag: --x\n") == "Error: unknown flag: --x"
    assert shortened("one\ntwo\nthree\nfour\n") == "two\nthree\nfour"
    assert shortened("") == "it said nothing"
    assert len(shortened("error " * 1000)) <= 600
