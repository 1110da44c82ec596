"""How much there is: processors, memory, watches, files, and whether the time can be true."""

from __future__ import annotations

import resource
import time
from datetime import UTC, datetime
from pathlib import Path

from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking
from minikube.drivers.native.layout import Layout
from minikube.drivers.values import MINIMUM_CPUS, MINIMUM_MEMORY_MB
from minikube.host import inotify, resources

LEAST_OPEN_FILES = 8192
LEAST_WATCHES = 65536
_DAY = 24 * 3600


def processors(ground: Ground) -> Finding:
    have = resources.cpus()
    if have < MINIMUM_CPUS:
        return lacking(
            f"{have}, and Kubernetes needs {MINIMUM_CPUS}", "Use a machine with two or more; `minikube start --force` tries all the same."
        )
    return fine(str(have))


def memory(ground: Ground) -> Finding:
    facts = {
        name: int(rest.split()[0]) >> 10
        for name, _, rest in (line.partition(":") for line in ground.read("/proc/meminfo").splitlines())
        if rest.split()
    }
    total, free = facts.get("MemTotal", 0), facts.get("MemAvailable", 0)
    if total and total < MINIMUM_MEMORY_MB:
        return lacking(f"{total} MB, and a cluster needs {MINIMUM_MEMORY_MB} MB", "Use a machine with 2 GB or more.")
    if free < MINIMUM_MEMORY_MB:
        return doubtful(f"{free} MB of {total} MB are free: a cluster may push others out of memory", "End programs you do not need.")
    return fine(f"{total} MB, {free} MB of them free")


def swap(ground: Ground) -> Finding:
    devices = ground.read("/proc/swaps").splitlines()[1:]
    return fine(f"{len(devices)} in use; pods do not use it" if devices else "there is none")


def inotify_limits(ground: Ground) -> Finding:
    limit = inotify.limit(ground.root)
    watches = ground.number("/proc/sys/fs/inotify/max_user_watches", 524288)
    fix = "Run: sudo sysctl -w fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288"
    # Only root can count, and only root's count; a start raises what is too low if it can.
    close = ground.user == 0 and inotify.is_close(ground.root) and not inotify.can_raise(ground.root)
    if close and not ground.path(f"/sys/class/net/{Layout(ground.machine).bridge}").exists():
        left = inotify.left(ground.root)
        if left < inotify.INSTANCES:
            return lacking(f"{left} of {limit} instances are left for your processes, and a cluster takes {inotify.INSTANCES}", fix)
    if watches < LEAST_WATCHES:
        return doubtful(f'{watches} watches for each user: many pods end with "too many open files"', fix)
    return fine(f"{limit} instances, {watches} watches for each user")


def open_files(ground: Ground) -> Finding:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= hard < LEAST_OPEN_FILES:
        return doubtful(f"at most {hard} for each process: a busy API server or etcd needs more", "Run before the start: ulimit -n 1048576")
    return fine("no limit" if hard < 0 else f"{hard} for each process")


def clock(ground: Ground) -> Finding:
    """It cannot be earlier than what this machine has already written: certificates would not be valid yet."""
    now = time.time()
    seen = max((_written(file) for file in (Path(__file__), ground.home / "ca.crt", ground.home / "config" / "config.json")), default=0.0)
    if now < seen - _DAY:
        return doubtful(
            f"says {_date(now)}, but there are files of {_date(seen)}: certificates may not be valid yet",
            "Set the time: sudo timedatectl set-ntp true",
        )
    return fine(f"{_date(now)} UTC")


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
