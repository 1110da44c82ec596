"""What is kept of the first containers, and when it is not used. Real ones start in e2e/test_lifecycle.py."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

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
    pods = {"etcd": {"box": BOX, "container": CONTAINER, "manifest": "of yesterday", "group": {}}}
    resolvers = hashlib.sha256(Path(forerunners.RESOLVERS).read_bytes()).hexdigest()
    (tmp_path / "kept.json").write_text(json.dumps({"pods": pods, "resolvers": resolvers}))
    answer = run(tmp_path)
    assert answer.returncode == 0, answer.stderr  # without crictl, it would have failed had it tried
    assert "have changed" in answer.stdout
    assert not (tmp_path / "kept.json").exists()


def test_other_name_servers_are_left_to_the_kubelet(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text(json.dumps({"pods": {}, "resolvers": "of yesterday"}))
    answer = run(tmp_path)
    assert (answer.returncode, "have changed" in answer.stdout) == (0, True), answer.stderr


def test_who_comes_too_early_for_containerd_comes_again(tmp_path: Path) -> None:
    early = tmp_path / "early"
    program = f"[ -e {early} ] && exit 0; touch {early}; echo 'server is not initialized yet: unavailable' >&2; exit 1"
    assert forerunners.run_each([["/bin/sh", "-c", program], ["/bin/sh", "-c", "exit 3"], ["/bin/true"]]) == [True, False, True]


def test_an_api_server_without_its_database_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept up, it would keep the kubelet waiting, which has to start the database."""
    for name in forerunners.FIRST:
        (tmp_path / f"{name}.yaml").write_text(name)
    pods = {
        name: {
            "box": {**BOX, "metadata": {**BOX["metadata"], "uid": f"uid-{name}"}},
            "container": {**CONTAINER, "metadata": {"name": name}},
            "manifest": hashlib.sha256(name.encode()).hexdigest(),
            "group": {},
        }
        for name in forerunners.FIRST
    }
    resolvers = hashlib.sha256(Path(forerunners.RESOLVERS).read_bytes()).hexdigest()
    (tmp_path / "kept.json").write_text(json.dumps({"pods": pods, "resolvers": resolvers}))
    crictl = tmp_path / "crictl"
    crictl.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n'
        'case "$*" in *run*etcd.container*) exit 1;; *pods*uid-kube-apiserver*) echo box-of-apiserver;; esac\n'
    )
    crictl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(forerunners, "GROUPS", str(tmp_path / "groups"))
    forerunners.run(str(tmp_path / "kept.json"), str(tmp_path))
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[-1] == "rmp --force box-of-apiserver"
    assert sum("rmp" in line for line in asked) == 1


def test_a_damaged_file_is_no_more_than_a_failure(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("{")
    assert run(tmp_path).returncode != 0
    assert run(tmp_path).returncode == 0


def run(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", forerunners.__file__, "run", str(directory / "kept.json"), str(directory)]
    return subprocess.run(command, env={"PATH": str(directory)}, capture_output=True, text=True, timeout=20, check=False)


def test_the_kubelet_looks_just_after_the_api_server_is_there() -> None:
    for took in (0.4, 1.25, 2.9):
        start = forerunners.until_kubelet(took)
        looks = [start + forerunners.BEFORE_FIRST_LOOK + n * forerunners.LOOKS_EVERY for n in range(5)]
        assert min(abs(look - took * forerunners.UNTIL_WELL) for look in looks) < 0.001
        assert 0 <= start < forerunners.LOOKS_EVERY
    assert forerunners.until_kubelet(0) == 0


def test_how_long_the_api_server_took(tmp_path: Path) -> None:
    status = {"startedAt": "2026-01-02T03:04:05.500000000Z", "metadata": {"attempt": 1}}
    answered = tmp_path / "answered"
    assert forerunners.seconds_to_answer(status, str(answered)) == 0
    answered.touch()
    started = datetime(2026, 1, 2, 3, 4, 5, 500000, tzinfo=UTC).timestamp()
    os.utime(answered, (started + 2, started + 2))
    assert forerunners.seconds_to_answer(status, str(answered)) == 2
    assert forerunners.seconds_to_answer({**status, "metadata": {}}, str(answered)) == 2 * forerunners.FIRST_START
    # It has been started anew since: nobody has looked when that one answered.
    os.utime(answered, (started - 60, started - 60))
    assert forerunners.seconds_to_answer(status, str(answered)) == 0


def test_a_new_group_may_use_the_cpus_of_the_one_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forerunners, "GROUPS", str(tmp_path))
    forerunners.let_use_cpus("/kubepods/burstable/podu")  # version 2 of control groups: nothing to tell
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "cpuset").mkdir()
    for setting, value in (("cpus", "0-1"), ("mems", "0")):
        (tmp_path / f"cpuset/cpuset.{setting}").write_text(value)
    forerunners.let_use_cpus("/kubepods/burstable/podu")
    pod = tmp_path / "cpuset/kubepods/burstable/podu"
    assert [(pod / f"cpuset.{setting}").read_text() for setting in ("cpus", "mems")] == ["0-1", "0"]
