"""Pausing: everything stands still, says so, and goes on where it was."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import time
from collections.abc import Iterator

import pytest
from support import manifests
from support.brokenprogram import without_verb
from support.events import events, steps
from support.minikube import read_until
from support.waiting import eventually

from e2e.conftest import Cluster, identity

TICKS = "/mnt/ticks"


def ticker() -> manifests.Object:
    """A pod of a user's that adds a line to a file of the node ten times a second."""
    pod = manifests.pod("ticker", "while true; do echo tick >> /data/ticks; sleep 0.1; done")
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    pod["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": TICKS, "type": "DirectoryOrCreate"}}]
    return pod


@pytest.fixture(scope="module")
def ticking(cluster: Cluster) -> Iterator[Cluster]:
    """The session's cluster with the ticker in it; running again afterwards, whatever happened."""
    cluster.apply(ticker())
    cluster.kubectl("wait", "--for=condition=Ready", "pod/ticker", "--timeout=60s")
    yield cluster
    cluster.run("unpause")
    cluster.kubectl("delete", "pod", "ticker", "--wait=false")


def ticks(cluster: Cluster) -> int:
    return (cluster.machine / "state" / TICKS.lstrip("/") / "ticks").stat().st_size


def goes_on(cluster: Cluster) -> bool:
    """Whether the ticker gets processor time."""
    before = ticks(cluster)
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        if ticks(cluster) > before:
            return True
        time.sleep(0.05)
    return False


def api_answers(cluster: Cluster) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((cluster.ok("ip").strip(), 8443), timeout=3) as plain, context.wrap_socket(plain):
            return True
    except TimeoutError:
        return False


def is_well(cluster: Cluster) -> bool:
    return eventually(lambda: cluster.run("status").code == 0)


def test_a_paused_control_plane_stands_still_and_says_so(ticking: Cluster) -> None:
    before = identity(ticking)
    answer = ticking.run("pause")
    assert answer.code == 0, answer
    first, second = answer.stdout.splitlines()
    assert first.strip() == f"* Pausing node {ticking.profile} ..."
    assert second.startswith("* Paused ")
    assert second.endswith(" containers in: kube-system, kubernetes-dashboard, istio-operator")
    assert not api_answers(ticking)
    assert goes_on(ticking)  # what is the user's own is not touched

    status = ticking.run("status")
    assert status.code == 2
    assert status.stdout.splitlines()[2:6] == ["host: Running", "kubelet: Stopped", "apiserver: Paused", "kubeconfig: Configured"]
    paused = {"Host": "Running", "Kubelet": "Stopped", "APIServer": "Paused", "Kubeconfig": "Configured"}
    assert ticking.run("status", "-o", "json").json() == {"Name": ticking.profile, **paused, "Worker": False}
    layout = ticking.run("status", "-o", "json", "--layout=cluster").json()
    assert (layout["StatusCode"], layout["StatusName"]) == (418, "Paused")
    assert layout["Nodes"][0]["Components"]["apiserver"]["StatusCode"] == 418
    assert layout["Nodes"][0]["Components"]["kubelet"]["StatusCode"] == 405

    kubectl = ticking.run("kubectl", "--", "get", "nodes")
    assert kubectl.code == 103
    assert "apiserver is paused" in kubectl.stdout
    assert f"minikube unpause -p {ticking.profile}" in kubectl.stdout
    assert ticking.run("kubectl", "--", "config", "get-contexts", ticking.profile).code == 0

    assert "The API server is paused" in ticking.ok("logs", "-n", "1")

    again = ticking.run("pause")
    assert again.code == 0
    assert "Paused 0 containers" in again.stdout

    assert "Unpaused " in ticking.ok("unpause")
    assert is_well(ticking)
    assert identity(ticking) == before


def test_everything_stands_still_with_all_namespaces(ticking: Cluster) -> None:
    pausing, paused = steps(ticking.run("pause", "-A", "-o", "json"))
    assert pausing == {"currentstep": "0", "totalsteps": "1", "name": "Pausing", "message": f"Pausing node {ticking.profile} ... "}
    count = int(paused["message"].split()[1])
    assert paused == {"currentstep": "1", "totalsteps": "1", "name": "Done", "message": f"Paused {count} containers"}
    assert not goes_on(ticking)
    unpausing, done = steps(ticking.run("unpause", "-o", "json"))
    assert unpausing == {"currentstep": "0", "totalsteps": "1", "name": "Unpausing", "message": f"Unpausing node {ticking.profile} ... "}
    assert (done["currentstep"], done["totalsteps"], done["name"]) == ("1", "1", "Done")
    assert done["message"].startswith(f"Unpaused {count} containers in: kube-system, kubernetes-dashboard, istio-operator, default")
    assert goes_on(ticking)
    assert is_well(ticking)


def test_one_namespace_alone(ticking: Cluster) -> None:
    assert ticking.ok("pause", "-n", "default").splitlines()[1].endswith("containers in: default")
    assert not goes_on(ticking)
    status = ticking.run("status", "-o", "json")
    assert (status.code, status.json()["Kubelet"], status.json()["APIServer"]) == (2, "Stopped", "Running")
    assert "Unpaused 0 containers" in ticking.ok("resume", "-n", "kube-system")
    assert not goes_on(ticking)
    assert ticking.run("status", "--format={{.Kubelet}}").stdout == "Stopped"
    ticking.ok("unpause", "--namespaces=default")
    assert goes_on(ticking)
    assert is_well(ticking)


def test_unpausing_what_is_not_paused_changes_nothing(ticking: Cluster) -> None:
    assert "Unpaused 0 containers in: kube-system" in ticking.ok("unpause")
    assert is_well(ticking)


def test_start_unpauses(ticking: Cluster) -> None:
    ticking.ok("pause", "-A")
    assert "was paused: unpaused" in ticking.start()
    assert goes_on(ticking)
    assert is_well(ticking)


def test_a_killed_pause_is_undone_by_unpause(ticking: Cluster) -> None:
    process = ticking.begin("pause")
    read_until(process, "Pausing node", seconds=60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    ticking.ok("unpause")
    assert is_well(ticking)


REFUSED = [("pause", "pause", "GUEST_PAUSE"), ("unpause", "resume", "GUEST_UNPAUSE"), ("pause", "list", "GUEST_CHECK_PAUSED")]


@pytest.mark.parametrize(("command", "verb", "id"), REFUSED)
def test_containers_that_cannot_be_frozen_or_thawed(ticking: Cluster, command: str, verb: str, id: str) -> None:
    if command == "unpause":
        ticking.ok("pause", "-n", "default")
    with without_verb(ticking, "crun", verb) as says:
        answer = ticking.run(command, "-n", "default")
        assert (answer.code, f"Exiting due to {id}: " in answer.stderr, says in answer.stderr) == (80, True, True), answer
        told = [data for kind, data in events(ticking.run(command, "-n", "default", "-o", "json")) if kind == "error"]
        assert [(data["name"], data["exitcode"]) for data in told] == [(id, "80")]
    ticking.ok("unpause")
    assert goes_on(ticking)
    assert is_well(ticking)


def test_no_namespace_at_all_is_a_mistake(cluster: Cluster) -> None:
    answer = cluster.run("pause", "--namespaces=")
    assert answer.code == 14
    assert "Use -A to specify all namespaces" in answer.stderr


@pytest.mark.parametrize("command", ["pause", "unpause"])
def test_a_profile_that_is_not_there(cluster: Cluster, command: str) -> None:
    answer = cluster.place.run(command, "-p", "nowhere")
    assert answer.code == 85
    assert 'Profile "nowhere" not found' in answer.stdout
