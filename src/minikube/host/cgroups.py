"""Control groups of the host: which version, where a node's group is, and removing it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def is_v2() -> bool:
    """True where the unified hierarchy is the one in use (v1 with an empty v2 tree beside it is v1)."""
    return (ROOT / "cgroup.controllers").exists()


def directories(path: str) -> list[Path]:
    """The directories that make up one control group: one on v2, one for each controller on v1."""
    relative = path.lstrip("/")
    if is_v2():
        return [ROOT / relative]
    return [controller / relative for controller in sorted(ROOT.iterdir()) if controller.is_dir() and not controller.is_symlink()]


def make(path: str, controller: str) -> Path | None:
    """The group's directory where that controller's files are; None where this host does not have the controller."""
    if not is_v2():
        if not (ROOT / controller).is_dir():
            return None
        directory = ROOT / controller / path.lstrip("/")
        # Whoever deletes the last cluster of the host removes the parent: also in the moment between making it and this.
        for _ in range(5):
            with contextlib.suppress(FileNotFoundError):
                directory.mkdir(parents=True, exist_ok=True)
                break
        return directory
    directory = ROOT
    for part in path.strip("/").split("/"):
        if controller not in (directory / "cgroup.controllers").read_text().split():
            return None
        (directory / "cgroup.subtree_control").write_text(f"+{controller}")
        directory /= part
        directory.mkdir(exist_ok=True)
    return directory


def remove(path: str) -> None:
    """Remove an emptied control group with what is left below it, and its parent if nothing else is in there."""
    for directory in directories(path):
        for below, _, _ in os.walk(directory, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                Path(below).rmdir()
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
