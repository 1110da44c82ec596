"""What is kept of the first containers, and when it is not used. Real ones start in e2e/test_lifecycle.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from minikube.node import forerunners

BOX = {"metadata": {"name": "etcd-one", "namespace": "kube-system", "uid": "u"}, "linux": {"cgroup_parent": "/kubepods/burstable/podu"}}
CONTAINER = {
    "metadata": {"name": "etcd"},
    "annotations": {forerunners.RESTARTS: "0", forerunners.LAST_WORDS: "/dev/termination-log", "io.kubernetes.container.hash": "464c5d1"},
    "command": ["etcd", "--name=one"],
    "log_path": "etcd/0.log",
    "mounts": [],
}


def test_the_next_attempt_differs_in_its_number_alone() -> None:
    box, container = forerunners.next_attempt(BOX, CONTAINER)
    assert box == {**BOX, "metadata": {**BOX["metadata"], "attempt": 1}}
    assert container["metadata"]["attempt"] == 1
    assert (container["annotations"][forerunners.RESTARTS], container["log_path"]) == ("1", "etcd/1.log")
    assert container["annotations"]["io.kubernetes.container.hash"] == "464c5d1"
    again = forerunners.next_attempt(box, container)
    assert [config["metadata"]["attempt"] for config in again] == [2, 2]
    assert "attempt" not in CONTAINER["metadata"]


def test_nothing_kept_is_nothing_to_do(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 0


def test_a_changed_manifest_is_left_to_the_kubelet_and_what_was_kept_is_used_once(tmp_path: Path) -> None:
    (tmp_path / "etcd.yaml").write_text("of today")
    (tmp_path / "kept.json").write_text(json.dumps({"etcd": {"box": BOX, "container": CONTAINER, "manifest": "of yesterday", "group": {}}}))
    answer = run(tmp_path)
    assert answer.returncode == 0, answer.stderr  # without crictl, it would have failed had it tried
    assert "has changed" in answer.stdout
    assert not (tmp_path / "kept.json").exists()


def test_a_damaged_file_is_no_more_than_a_failure(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("{")
    assert run(tmp_path).returncode != 0
    assert run(tmp_path).returncode == 0


def run(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", forerunners.__file__, "run", str(directory / "kept.json"), str(directory)]
    return subprocess.run(command, env={"PATH": str(directory)}, capture_output=True, text=True, timeout=20, check=False)
