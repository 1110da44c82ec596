"""Control groups of the host: which version, where a node's group is, and removing it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
# Of these version 1 hierarchies every directory that belongs to no unit is systemd's, where that runs.
SYSTEMDS = frozenset({"systemd", "unified", "cpu", "cpuacct", "cpu,cpuacct", "blkio", "memory", "devices", "pids"})


def is_v2() -> bool:
    """True where the unified hierarchy is the one in use (v1 with an empty v2 tree beside it is v1)."""
    return (ROOT / "cgroup.controllers").exists()


def directories(path: str) -> list[Path]:
    """The directories that make up one control group: one on v2, one for each controller on v1."""
    relative = path.lstrip("/")
    if is_v2():
        return [ROOT / relative]
    # Besides links, there may be empty directories with names of controllers that are mounted apart.
    return [controller / relative for controller in sorted(ROOT.iterdir()) if not controller.is_symlink() and _is_hierarchy(controller)]


def _is_hierarchy(directory: Path) -> bool:
    return (directory / "cgroup.procs").exists()


def make(path: str, controller: str) -> Path | None:
    """The group's directory where that controller's files are; None where this host does not have the controller."""
    if not is_v2():
        if not (ROOT / controller).is_dir():
            return None
        return _made(ROOT / controller / path.lstrip("/"))
    directory = ROOT
    for part in path.strip("/").split("/"):
        if controller not in (directory / "cgroup.controllers").read_text().split():
            return None
        # Groups above ours may be systemd's, which passes on what it was asked for.
        if controller not in (directory / "cgroup.subtree_control").read_text().split():
            (directory / "cgroup.subtree_control").write_text(f"+{controller}")
        directory /= part
        directory.mkdir(exist_ok=True)
    return directory


def joining(path: str) -> Callable[[], None]:
    """Make a group without limits; what is given puts the process that calls it in there (between fork and exec)."""
    files = [str(_made(directory) / "cgroup.procs") for directory in directories(path)]

    def join() -> None:
        for file in files:
            _put(file, b"0")

    return join


def put(path: str, process: int) -> None:
    """Move a process into a group without limits, which is made if need be."""
    for directory in directories(path):
        _put(str(_made(directory) / "cgroup.procs"), str(process).encode())


def _made(directory: Path) -> Path:
    # Whoever deletes the last cluster of the host removes the parent: also in the moment between making it and this.
    for _ in range(5):
        with contextlib.suppress(FileNotFoundError):
            directory.mkdir(parents=True, exist_ok=True)
            break
    return directory


def _put(file: str, process: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY)
    # cpuset of version 1 takes nobody as long as it has no CPUs: that one does not matter.
    with contextlib.suppress(OSError):
        os.write(descriptor, process)
    os.close(descriptor)


def remove(path: str) -> None:
    """Remove an emptied control group with what is left below it, and its parent if that is ours and nothing else is in there."""
    for directory in directories(path):
        for below, _, _ in os.walk(directory, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                Path(below).rmdir()
        if directory.parent.name == "minikube" or not (is_v2() or directory.relative_to(ROOT).parts[0] in SYSTEMDS):
            with contextlib.suppress(OSError):
                directory.parent.rmdir()


def processes(path: str) -> set[int]:
    """Every process in a control group and below it."""
    found: set[int] = set()
    for directory in directories(path)[:1]:
        for below, _, _ in os.walk(directory):
            with contextlib.suppress(OSError):
                found.update(int(line) for line in (Path(below) / "cgroup.procs").read_text().split())
    return found


def thaw(path: str) -> None:
    """Let everything in a control group and below it go on, whoever froze it."""
    file, word = ("cgroup.freeze", "0") if is_v2() else ("freezer.state", "THAWED")
    top = (ROOT if is_v2() else ROOT / "freezer") / path.lstrip("/")
    for below, _, names in os.walk(top):
        if file in names:
            with contextlib.suppress(OSError):
                (Path(below) / file).write_text(word)
