"""The end of a node: who is told when, and what happens to those that do not listen."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from supervised_node import SupervisedNode, alive, until

# Writes its name into a file when asked to end; `watch` is a pid whose life it reports with it.
WITNESS = """
import os, signal, sys, time
name, record, pids = sys.argv[1], sys.argv[2], sys.argv[3:]
def leave(*_):
    watched = "".join(":" + ("alive" if os.path.exists("/proc/" + open(p).read().strip()) else "gone") for p in pids)
    time.sleep(0.1)
    open(record, "a").write(name + watched + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
open(record + "." + name, "w").write("up")
while True:
    time.sleep(1)
"""


def witness(name: str, record: Path, *pids: Path) -> list[str]:
    return [sys.executable, "-c", WITNESS, name, str(record), *map(str, pids)]


def orphan(pid_file: Path, *argv: str) -> list[str]:
    """Leave a process behind in a session of its own, as a container's shim does."""
    return ["sh", "-c", f'setsid "$@" & echo $! > {pid_file}', "sh", *argv]


def test_kubelet_then_containers_then_runtime_then_the_rest(node: SupervisedNode, tmp_path: Path) -> None:
    record, shim, sandbox = tmp_path / "record", tmp_path / "shim.pid", tmp_path / "pause.pid"
    for name in ("containerd-shim-runc-v2", "pause"):
        shutil.copy("/bin/sleep", tmp_path / name)
    node.start(
        [
            {"name": "containerd", "argv": witness("containerd", record, shim, sandbox)},
            {"name": "kubelet", "argv": witness("kubelet", record), "after": ["containerd"]},
        ],
        setup=[
            orphan(shim, str(tmp_path / "containerd-shim-runc-v2"), "1000"),
            orphan(sandbox, str(tmp_path / "pause"), "1000"),
            orphan(tmp_path / "etcd.pid", *witness("etcd", record)),
        ],
        drain_before=["containerd"],
    )
    for name in ("containerd", "kubelet", "etcd"):
        until((tmp_path / f"record.{name}").exists)
    left = [int(path.read_text()) for path in (shim, sandbox)]
    assert all(map(alive, left))
    assert node.control.shutdown(30)
    assert node.process is not None
    assert node.process.wait(20) == 0
    assert record.read_text().split() == ["kubelet", "etcd", "containerd:alive:alive"]
    assert not any(map(alive, left))


def test_the_database_is_told_when_its_users_have_ended(node: SupervisedNode, tmp_path: Path) -> None:
    record = tmp_path / "record"
    (tmp_path / "etcd").symlink_to(sys.executable)
    node.start(
        [{"name": "containerd", "argv": witness("containerd", record)}],
        setup=[
            orphan(tmp_path / "database.pid", str(tmp_path / "etcd"), *witness("database", record)[1:]),
            orphan(tmp_path / "server.pid", *witness("server", record)),
        ],
        drain_before=["containerd"],
        drain_last=["etcd"],
    )
    for name in ("containerd", "database", "server"):
        until((tmp_path / f"record.{name}").exists)
    assert node.control.shutdown(30)
    assert node.lines("record") == ["server", "database", "containerd"]


def test_who_dawdles_and_has_nothing_to_lose_is_not_waited_for(node: SupervisedNode, tmp_path: Path) -> None:
    record = tmp_path / "record"
    (tmp_path / "dawdler").symlink_to("/bin/sh")
    deaf = f"trap '' TERM; echo $$ > {tmp_path}/dawdler.own; while :; do sleep 0.1; done"
    node.start(
        [{"name": "containerd", "argv": witness("containerd", record)}],
        setup=[orphan(tmp_path / "dawdler.pid", str(tmp_path / "dawdler"), "-c", deaf)],
        drain_before=["containerd"],
        drain_timeout=1000.0,
        shutdown_timeout=1000.0,
        drain_briefly=["dawdler"],
    )
    until((tmp_path / "record.containerd").exists)
    pid = int(until(lambda: node.lines("dawdler.own"))[0])
    assert node.control.shutdown(30)
    assert not alive(pid)
    assert node.lines("record") == ["containerd"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGPWR])
def test_a_signal_shuts_down(node: SupervisedNode, number: signal.Signals) -> None:
    node.start([{"name": "daemon", "argv": ["sleep", "1000"]}])
    pid = node.until_state("daemon", "running")["pid"]
    assert node.process is not None
    node.process.send_signal(number)
    assert node.process.wait(20) == 0
    assert not alive(pid)


def test_what_does_not_end_in_time_is_killed(node: SupervisedNode, tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo $$ > {}; while :; do sleep 1; done"
    node.start(
        [
            {"name": "base", "argv": ["sh", "-c", deaf.format(tmp_path / "base")], "stop_timeout": 1000},
            {"name": "top", "argv": ["sh", "-c", deaf.format(tmp_path / "top")], "stop_timeout": 1000, "after": ["base"]},
        ],
        setup=[orphan(tmp_path / "ignored", "sh", "-c", deaf.format(tmp_path / "stray"))],
        shutdown_timeout=0.3,
        drain_before=["base"],
        drain_timeout=1000,
    )
    pids = [int(until(lambda name=name: node.lines(name))[0]) for name in ("base", "top", "stray")]
    assert node.control.shutdown(30)
    assert node.process is not None
    assert node.process.wait(20) == 0
    assert not any(map(alive, pids))


def test_services_in_back_off_do_not_come_back_during_shutdown(node: SupervisedNode, tmp_path: Path) -> None:
    node.start(
        [
            {"name": "flaky", "argv": ["sh", "-c", f"echo run >> {tmp_path}/runs; exit 1"]},
            {"name": "slow", "argv": witness("slow", tmp_path / "record")},
        ],
        restart={"first": 0.01, "longest": 0.01},
    )
    until((tmp_path / "record.slow").exists)
    assert node.process is not None
    node.process.terminate()
    assert node.process.wait(20) == 0
    assert node.lines("record") == ["slow"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a pid namespace needs root")
def test_as_pid_1_of_a_namespace(node: SupervisedNode, tmp_path: Path) -> None:
    """A container whose first process does not catch SIGTERM can only be killed: waiting for it would be in vain."""
    record = tmp_path / "record"
    container = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    node.start(
        [
            {"name": "containerd", "argv": witness("containerd", record)},
            {"name": "forker", "argv": ["sh", "-c", f"(sleep 0.05 & echo $! > {tmp_path}/orphan); exec sleep 1000"]},
        ],
        prefix=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"),
        setup=[
            orphan(tmp_path / "one", *container, *witness("etcd", record)),
            orphan(tmp_path / "two", *container, "sleep", "1000"),
        ],
        shutdown_timeout=600,
        drain_before=["containerd"],
        drain_timeout=600,
    )
    for name in ("containerd", "etcd"):
        until((tmp_path / f"record.{name}").exists)
    code, listing, _ = node.control.run(["sh", "-c", "cat /proc/1/cmdline"])
    assert code == 0
    assert b"supervisor.py" in listing
    pid = int(until(lambda: node.lines("orphan"))[0])
    until(lambda: node.control.run(["test", "-e", f"/proc/{pid}"])[0] == 1)
    assert node.control.shutdown(30)
    assert node.process is not None
    assert node.process.wait(20) == 0
    assert node.lines("record") == ["etcd", "containerd"]
