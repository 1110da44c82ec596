"""The control group around a node's own: limits and device rules where nobody in the node can reach them.

A node sees its own group as the root of everything, and on cgroup v1 root may write there: a privileged pod could lift limits that were
only set there. What is set one level up holds for all below, and is not part of the node's view.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

from minikube.drivers.native import rights
from minikube.drivers.values import Limits
from minikube.host import cgroups

PERIOD = 100_000  # microseconds


def build(path: str, limits: Limits) -> None:
    """Make the group, or give it other limits while the node runs."""
    settings = dict(_v2(limits) if cgroups.is_v2() else _v1(limits))
    for name, value in settings.items():
        controller = name.partition(".")[0]
        group = cgroups.make(path, controller)
        # A host without that controller has no limit to offer: runc says so for the node's own group.
        if group and (group / name).exists():
            if name == "memory.max":
                _require_room(group, limits)
            (group / name).write_text(value)
    if not cgroups.is_v2() and (devices := cgroups.make(path, "devices")):
        _close(devices)


def _v1(limits: Limits) -> Iterator[tuple[str, str]]:
    yield "memory.limit_in_bytes", str(limits.memory_mb << 20 or -1)
    yield "cpu.cfs_period_us", str(PERIOD)
    yield "cpu.cfs_quota_us", str(int(limits.cpus * PERIOD) or -1)
    yield "pids.max", str(limits.pids or "max")


def _v2(limits: Limits) -> Iterator[tuple[str, str]]:
    yield "memory.max", str(limits.memory_mb << 20 or "max")
    # Beyond it the host would swap for a node, slowly, until nothing else can.
    yield "memory.swap.max", "0" if limits.memory_mb else "max"
    yield "cpu.max", f"{int(limits.cpus * PERIOD) or 'max'} {PERIOD}"
    yield "pids.max", str(limits.pids or "max")


def _require_room(group: Path, limits: Limits) -> None:
    """Version 1 refuses a limit below what is in use; version 2 takes it, and ends processes until it fits."""
    told = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    in_use = int((group / "memory.current").read_text()) - int(told["file"]) + int(told["shmem"])
    if 0 < limits.memory_mb << 20 < in_use:
        raise OSError(errno.EBUSY, f"{in_use >> 20} MB are in use")


def _close(devices: Path) -> None:
    """Only while nothing is below: the kernel refuses to start over with a group that has groups of its own."""
    if any(entry.is_dir() for entry in devices.iterdir()):
        return
    for rule in rights.device_rules():
        kind, access = rule.get("type", "a"), rule["access"]
        number = f"{rule.get('major', '*')}:{rule.get('minor', '*')}"
        file = devices / ("devices.allow" if rule["allow"] else "devices.deny")
        file.write_text("a" if kind == "a" else f"{kind} {number} {access}")
