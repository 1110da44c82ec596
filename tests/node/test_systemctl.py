"""`systemctl` in a node, asked of a real supervisor."""

from __future__ import annotations

from pathlib import Path

import pytest
from supervised_node import SupervisedNode

from minikube.node import systemctl

SLEEP = ["/bin/sleep", "1000"]


@pytest.fixture
def running(node: SupervisedNode) -> SupervisedNode:
    node.start([{"name": "kubelet", "argv": SLEEP}, {"name": "images", "argv": SLEEP, "autostart": False}])
    node.until_state("kubelet", "running")
    return node


def asked(node: SupervisedNode, *words: str) -> int:
    return systemctl.main(list(words), str(node.socket))


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        (["is-active", "kubelet"], 0, "active\n"),
        (["is-active", "kubelet.service"], 0, "active\n"),
        (["is-active", "images"], 3, "inactive\n"),
        (["is-active", "docker"], 3, "inactive\n"),
        (["is-active", "docker", "kubelet"], 0, "inactive\nactive\n"),
        (["is-active", "--quiet", "docker"], 3, ""),
        (["is-enabled", "kubelet"], 0, "enabled\n"),
        (["status", "kubelet"], 0, "kubelet.service: active (running)\n"),
        (["status", "docker"], 4, "Unit docker.service could not be found.\n"),
    ],
)
def test_answers_like_systemctl(
    running: SupervisedNode, capsys: pytest.CaptureFixture[str], words: list[str], code: int, output: str
) -> None:
    assert asked(running, *words) == code
    assert capsys.readouterr().out == output


def test_stop_and_start(running: SupervisedNode) -> None:
    assert asked(running, "stop", "kubelet") == 0
    assert asked(running, "is-active", "kubelet") == 3
    assert asked(running, "start", "kubelet") == 0
    running.until_state("kubelet", "running")


@pytest.mark.parametrize("words", [["daemon-reload"], ["enable", "kubelet"], ["restart", "docker"], ["start"]])
def test_what_there_is_not_is_refused(running: SupervisedNode, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert asked(running, *words) != 0
    assert capsys.readouterr().err


def test_without_a_supervisor_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert systemctl.main(["is-active", "kubelet"], str(tmp_path / "nowhere.sock")) == 1
    assert "does not answer" in capsys.readouterr().err
