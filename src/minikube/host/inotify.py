"""File watches: the kernel lets every user have so many inotify instances and watches, and clusters are all root's.

What is used in a user namespace counts for who made that namespace as well, so every node counts for the host's root.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from minikube.host import cgroups, shiftedids

SETTING = "fs.inotify.max_user_instances"
WATCHES = "fs.inotify.max_user_watches"
SETTINGS = (SETTING, WATCHES)
PLENTY = {SETTING: 8192, WATCHES: 524288}  # what a setting is raised to at least: the next clusters need not look

# Measured: controller manager 8, kubelet 7, API server 6, containerd 2, scheduler 1, kube-proxy 1; and one more.
COMPONENTS = 26
# On control groups of version 2 a shim watches memory.events of each of its containers, with an instance for each. Every pod has two.
OWN_CONTAINERS, CONTAINERS_OF_USERS = 14, 2 * 110
PROGRAMS_OF_USERS = 38
WATCHES_OF_CLUSTER = 16384  # 200 and some are used; the rest is for pods, by whose control groups the kubelet's grow
WATCHES_OF_OTHERS = 8192
# Fewer instances than this beside what clusters have set aside, and it is counted what others use: that means looking at every open file.
WORTH_COUNTING = 2048
RAISE = "Run: sudo sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288"


def needed() -> int:
    """Instances without which a cluster's own components do not run."""
    return COMPONENTS + (OWN_CONTAINERS if cgroups.is_v2() else 0)


def share() -> int:
    """Instances that are set aside for a cluster with as many pods as a node takes."""
    return needed() + PROGRAMS_OF_USERS + (CONTAINERS_OF_USERS if cgroups.is_v2() else 0)


def limit(root: Path = Path("/"), name: str = SETTING) -> int:
    try:
        return int(_file(root, name).read_text())
    except (OSError, ValueError):
        return PLENTY[name]


def can_raise(root: Path = Path("/"), name: str = SETTING) -> bool:
    return os.access(_file(root, name), os.W_OK)


def used(root: Path = Path("/"), *, by_clusters: bool = False) -> int:
    """Instances of nodes, or of everything else, that count for the host's root."""
    found = 0
    for process in (root / "proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended since
            owner = process.stat().st_uid
            if owner in shiftedids.ALL if by_clusters else owner == 0:
                found += sum(_leads_to(file) == "anon_inode:inotify" for file in os.scandir(process / "fd"))
    return found


def left(root: Path = Path("/"), *, clusters: int = 0) -> int:
    """How many instances may still be made, if that many other clusters take what they need at least."""
    return max(limit(root) - used(root) - max(used(root, by_clusters=True), clusters * needed()), 0)


def too_low(root: Path = Path("/"), *, instances: int, watches: int) -> list[tuple[str, int, int]]:
    """Settings that do not suffice for what all clusters have set aside: name, value, and what it should be."""
    found = []
    before = limit(root)
    if before < instances + WORTH_COUNTING and before < (wanted := instances + used(root)):
        found.append((SETTING, before, max(PLENTY[SETTING], 2 * wanted)))
    before, wanted = limit(root, WATCHES), watches + WATCHES_OF_OTHERS
    if before < wanted:
        found.append((WATCHES, before, max(PLENTY[WATCHES], 2 * wanted)))
    return found


def _file(root: Path, name: str) -> Path:
    return root.joinpath("proc/sys", *name.split("."))


def _leads_to(file: os.DirEntry[str]) -> str:
    try:
        return os.readlink(file)  # noqa: PTH115 - there are thousands of them
    except OSError:
        return ""
