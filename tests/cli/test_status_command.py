"""`minikube status`: its text, its JSON, its exit bits."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest
from support.program import Program

from minikube.cli import status
from minikube.cli.clusterlayout import cluster_state
from minikube.cluster.status import NodeStatus
from minikube.output.gotemplate import render
from minikube.output.report import Report


def changed(status: NodeStatus, **changes: str) -> NodeStatus:
    return NodeStatus(**{**vars(status), **changes})


RUNNING = NodeStatus("minikube", "Running", "Running", "Running", "Configured")
STOPPED = NodeStatus("minikube", "Stopped", "Stopped", "Stopped", "Stopped")
PAUSED = NodeStatus("minikube", "Running", "Stopped", "Paused", "Configured")
WORKER = NodeStatus("minikube-m02", "Running", "Running", "Irrelevant", "Irrelevant", Worker=True)
LEAVING = NodeStatus("minikube", "Running", "Running", "Running", "Configured", TimeToStop="4m59s", DockerEnv="in-use")


def test_text_is_the_template_filled() -> None:
    assert status._plain(RUNNING) == (
        "minikube\ntype: Control Plane\nhost: Running\nkubelet: Running\napiserver: Running\nkubeconfig: Configured\n\n"
    )
    for node in (RUNNING, STOPPED, PAUSED, LEAVING):
        assert status._plain(node) == render(status._TEMPLATE, node)
    assert status._plain(WORKER) == "minikube-m02\ntype: Worker\nhost: Running\nkubelet: Running\n\n"


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([RUNNING], 0),
        ([RUNNING, WORKER], 0),
        ([STOPPED], 7),
        ([PAUSED], 2),
        ([changed(RUNNING, Kubeconfig="Misconfigured")], 4),
        ([changed(RUNNING, Host="InsufficientStorage")], 1),
        ([RUNNING, changed(WORKER, Kubelet="Stopped")], 2),
        ([], 7),
    ],
)
def test_exit_bits(nodes: list[NodeStatus], code: int) -> None:
    assert status.exit_code(nodes) == code


def test_json_of_a_node() -> None:
    assert status.as_object(RUNNING) == {
        "Name": "minikube",
        "Host": "Running",
        "Kubelet": "Running",
        "APIServer": "Running",
        "Kubeconfig": "Configured",
        "Worker": False,
    }
    assert status.as_object(LEAVING)["TimeToStop"] == "4m59s"


def test_layout_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    state = cluster_state("minikube", [RUNNING, WORKER])
    assert (state["Name"], state["StatusCode"], state["StatusName"]) == ("minikube", 200, "OK")
    assert state["Components"] == {"kubeconfig": {"Name": "kubeconfig", "StatusCode": 200, "StatusName": "OK"}}
    assert state["Nodes"][0]["Components"]["apiserver"] == {"Name": "apiserver", "StatusCode": 200, "StatusName": "OK"}
    assert set(state["Nodes"][1]["Components"]) == {"kubelet"}
    assert cluster_state("minikube", [PAUSED])["StatusCode"] == 418
    assert cluster_state("minikube", [STOPPED])["StatusName"] == "Stopped"


def test_layout_cluster_shows_the_step_a_command_is_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    events = tmp_path / ".minikube" / "profiles" / "minikube" / "events.json"
    events.parent.mkdir(parents=True)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    report = Report("start", events_file=events)
    report.step("Initial Minikube Setup", "minikube v1")
    report.step("Booting control plane", "Booting up control plane ...")
    state = cluster_state("minikube", [STOPPED])
    assert (state["StatusCode"], state["StatusName"]) == (100, "Starting")
    assert (state["Step"], state["StepDetail"]) == ("Booting control plane", "Booting up control plane ...")
    report.step("Done", "Done!")
    assert cluster_state("minikube", [RUNNING])["StatusCode"] == 200
    events.write_text(events.read_text().replace("Done", "Booting control plane") + "half a li")
    assert cluster_state("minikube", [STOPPED])["StatusCode"] == 100
    old = time.time() - 3600
    import os

    os.utime(events, (old, old))
    assert cluster_state("minikube", [STOPPED])["StatusCode"] == 405


def test_a_profile_without_its_machine(minikube: Program) -> None:
    minikube.add_profile("minikube")
    done = minikube("status", "-o", "json")
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout)["Host"] == "Nonexistent"
    assert minikube("status", "--format", "{{.Host}}|{{if eq .Kubelet `Nonexistent`}}no{{end}}").stdout == "Nonexistent|no"
    done = minikube("status", "--format", "{{.Hosst}}")
    assert (done.returncode, done.stdout) == (10, "")
    assert "MK_STATUS_TEXT" in done.stderr


def test_refusals(minikube: Program) -> None:
    minikube.add_profile("minikube")
    assert "Cannot use both --output and --format options" in minikube("status", "-o", "json", "-f", "x").stdout
    assert minikube("status", "-o", "yaml").returncode == 14
    assert minikube("status", "-l", "circle").returncode == 14
