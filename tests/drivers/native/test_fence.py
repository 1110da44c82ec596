"""Limits on control groups of version 2: what is written where, and what is refused rather than let the kernel end processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikube.drivers.native import fence
from minikube.drivers.values import Limits
from minikube.host import cgroups

MEGABYTE = 1 << 20
CONTROLLERS = "cpuset cpu io memory pids"


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fence as the kernel shows it: 900 MB in use, of which 300 MB are files that can be read again and 100 MB are not."""
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    made = tmp_path / "minikube/fence"
    made.mkdir(parents=True)
    for directory in (tmp_path, made.parent, made):
        for name in ("cgroup.controllers", "cgroup.subtree_control"):
            (directory / name).write_text(CONTROLLERS)
    for name in ("memory.max", "memory.swap.max", "cpu.max", "pids.max"):
        (made / name).write_text("max")
    (made / "memory.current").write_text(f"{900 * MEGABYTE}\n")
    (made / "memory.stat").write_text(f"anon {500 * MEGABYTE}\nfile {400 * MEGABYTE}\nshmem {100 * MEGABYTE}\n")
    return made


def limits(group: Path) -> list[str]:
    return [(group / name).read_text() for name in ("memory.max", "memory.swap.max", "cpu.max", "pids.max")]


def test_the_limits_of_a_node(group: Path) -> None:
    fence.build("/minikube/fence", Limits(cpus=2, memory_mb=2000, pids=500))
    assert limits(group) == [str(2000 * MEGABYTE), "0", "200000 100000", "500"]
    fence.build("/minikube/fence", Limits(cpus=0, memory_mb=0, pids=0))
    assert limits(group) == ["max", "max", "max 100000", "max"]


def test_files_in_memory_make_room(group: Path) -> None:
    fence.build("/minikube/fence", Limits(cpus=2, memory_mb=700, pids=500))
    assert limits(group)[0] == str(700 * MEGABYTE)


def test_less_than_what_is_in_use_is_refused(group: Path) -> None:
    with pytest.raises(OSError, match="600 MB are in use"):
        fence.build("/minikube/fence", Limits(cpus=2, memory_mb=500, pids=500))
    assert limits(group)[0] == "max"
