"""Owners for mounts of pods in user namespaces, on the real kernel: what is done, what is left to the kernel, and what if it dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support import mountcalls
from support.smallnode import SmallNode, small_node

from minikube.drivers.native import podmounts
from minikube.host import attendants

SOURCE = Path(mountcalls.__file__).read_text().partition("# what must end as if nobody had looked")[2]
HOSTILE = [line.split()[1].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def ")]


def _kernel_can() -> bool:
    if os.geteuid() != 0:
        return False
    code = podmounts._libc.syscall(podmounts.OPEN_TREE_ATTR, -1, b"", 0, None, 0)
    return bool(code < 0 and podmounts.ctypes.get_errno() != errno.ENOSYS)


pytestmark = pytest.mark.skipif(not _kernel_can(), reason="needs root, and Linux 6.15")


def test_a_flood_of_refusals_has_pauses_and_the_making_of_containers_none() -> None:
    allowance = podmounts.Allowance(0)
    assert all(allowance.spend(0) for _ in range(podmounts.UNPAUSED))
    assert not allowance.spend(0)
    assert [allowance.spend(1) for _ in range(podmounts.UNPAUSED_A_SECOND + 1)].count(True) == podmounts.UNPAUSED_A_SECOND
    assert all(allowance.spend(1000) for _ in range(podmounts.UNPAUSED))
    assert not allowance.spend(1000)


class Attended(NamedTuple):
    node: SmallNode
    guard: subprocess.Popen[bytes]
    machine: Path

    def worker(self) -> int:
        return next((process for process in attendants.processes(Path(podmounts.__file__), self.machine) if process != self.guard.pid), 0)


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "whole", tmp_path / "part"
    for directory in made:
        (directory / "inner").mkdir(parents=True)
        (directory / "file").write_text("x")
    return made


@pytest.fixture
def plain(directories: tuple[Path, Path]) -> Iterator[SmallNode]:
    with small_node(*directories, watched=False) as node:
        yield node


@pytest.fixture
def attended(directories: tuple[Path, Path], tmp_path: Path) -> Iterator[Attended]:
    with small_node(*directories, watched=True) as node:
        argv = [sys.executable, "-I", "-S", podmounts.__file__, str(tmp_path), str(node.process), "/mnt"]
        guard = subprocess.Popen(argv, stdin=node.listener)
        os.close(node.listener)
        yield Attended(node, guard, tmp_path)
    assert guard.wait(5) in (0, -signal.SIGKILL)


def test_files_belong_to_the_pod_through_its_mount_and_to_the_same_ids_on_disk(attended: Attended, directories: tuple[Path, Path]) -> None:
    assert attended.node.ask("a_pods_mount") == {"answer": [0, 65536, 65536, 0]}
    assert (directories[0] / "written").stat().st_uid == 0


@pytest.mark.parametrize(("scenario", "answer"), [("a_layers_mount", "ro"), ("a_files_mount", 0), ("while_signals_come", 50)])
def test_what_the_runtime_asks_for_is_done(attended: Attended, scenario: str, answer: object) -> None:
    assert attended.node.ask(scenario) == {"answer": answer}


def test_without_anybody_on_the_host_the_kernel_refuses(plain: SmallNode) -> None:
    assert plain.ask("a_pods_mount") == {"error": errno.EPERM}


def test_everything_else_ends_as_if_nobody_had_looked(plain: SmallNode, attended: Attended) -> None:
    before = {scenario: plain.ask(scenario) for scenario in HOSTILE}
    assert {scenario: attended.node.ask(scenario) for scenario in HOSTILE} == before
    # Not because nothing works: what the kernel allows a node still is, and the worker has survived all of it.
    assert {scenario for scenario, outcome in before.items() if "answer" in outcome} == {"plain_flags", "memory_of_the_node"}
    assert attended.node.ask("a_pods_mount") == {"answer": [0, 65536, 65536, 0]}


def test_no_call_hangs_when_the_worker_is_killed_again_and_again(attended: Attended) -> None:
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.05):
            if worker := attended.worker():
                os.kill(worker, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert attended.node.ask("many_calls") == {"answer": 200}
    finally:
        over.set()
        killer.join()
    assert attended.node.ask("a_pods_mount") == {"answer": [0, 65536, 65536, 0]}


def test_no_call_hangs_when_nobody_is_left(attended: Attended) -> None:
    attended.guard.kill()
    while worker := attended.worker():
        os.kill(worker, signal.SIGKILL)
        time.sleep(0.01)
    assert attended.node.ask("plain_flags") == {"error": errno.ENOSYS}
