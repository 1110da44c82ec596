"""How much there is: processors, memory, watches, files, and whether the time can be true."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking, several
from minikube.drivers.native.layout import Layout
from minikube.drivers.values import MINIMUM_CPUS, MINIMUM_MEMORY_MB
from minikube.host import inherited, inotify, reservations, resources
from minikube.network import routes, subnets

LEAST_WATCHES = 65536
# What one takes of limits of the whole kernel, with some pods.
THREADS_OF_CLUSTER, FILES_OF_CLUSTER = 512, 8192
_DAY = 24 * 3600


def processors(ground: Ground) -> Finding:
    have = resources.cpus()
    if have < MINIMUM_CPUS:
        return lacking(
            f"{have}, and Kubernetes needs {MINIMUM_CPUS}", "Use a machine with two or more; `minikube start --force` tries all the same."
        )
    return fine(str(have))


def memory(ground: Ground) -> Finding:
    facts = _memory(ground)
    total, free = facts.get("MemTotal", 0), facts.get("MemAvailable", 0)
    if total and total < MINIMUM_MEMORY_MB:
        return lacking(f"{total} MB, and a cluster needs {MINIMUM_MEMORY_MB} MB", "Use a machine with 2 GB or more.")
    if free < MINIMUM_MEMORY_MB:
        return doubtful(f"{free} MB of {total} MB are free: a cluster may push others out of memory", "End programs you do not need.")
    return fine(f"{total} MB, {free} MB of them free")


def _memory(ground: Ground) -> dict[str, int]:
    """/proc/meminfo in MB."""
    return {
        name: int(rest.split()[0]) >> 10
        for name, _, rest in (line.partition(":") for line in ground.read("/proc/meminfo").splitlines())
        if rest.split()
    }


def swap(ground: Ground) -> Finding:
    devices = ground.read("/proc/swaps").splitlines()[1:]
    return fine(f"{len(devices)} in use; pods do not use it" if devices else "there is none")


def inotify_limits(ground: Ground) -> Finding:
    limit = inotify.limit(ground.root)
    watches = inotify.limit(ground.root, inotify.WATCHES)
    # Only root can count, and only root's count; a start raises what is too low if it can.
    stuck = ground.user == 0 and not inotify.can_raise(ground.root)
    if stuck and not ground.path(f"/sys/class/net/{Layout(ground.machine).bridge}").exists():
        left = inotify.left(ground.root, clusters=len(reservations.of_others("", ground.root)))
        if left < inotify.needed():
            return lacking(
                f"{left} of {limit} instances are left for your processes, and a cluster takes {inotify.needed()}",
                "Run: sudo sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288",
            )
    if watches < LEAST_WATCHES and ground.user == 0 and not inotify.can_raise(ground.root, inotify.WATCHES):
        return doubtful(
            f'{watches} watches for each user: many pods end with "too many open files"',
            "Run: sudo sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288",
        )
    return fine(f"{limit} instances, {watches} watches for each user")


def open_files(ground: Ground) -> Finding:
    most = inherited.limits()["NOFILE"][1]
    if most < inherited.LEAST_OPEN_FILES:
        return doubtful(
            f"at most {most} for each process: a busy API server or etcd needs more",
            "Run before the start, in a shell that may: ulimit -n 1048576",
        )
    return fine(f"{most} for each process of a node")


def more_clusters(ground: Ground) -> Finding:
    """How many more fit, by each limit that all clusters of the host share; the lowest counts."""
    others = reservations.of_others("", ground.root)
    free_ids = reservations.free_ids(others, ground.root)
    taken = routes.destinations(ground.read(routes.FILE))
    free_subnets = [one for one in subnets.candidates() if not any(one.overlaps(network) for network in taken)]
    room = {
        "memory": _free_memory_mb(ground) // MINIMUM_MEMORY_MB,
        "ids": len(free_ids),
        "subnets": len(free_subnets),
        "processes": _free_threads(ground) // THREADS_OF_CLUSTER,
        "files": _free_files(ground) // FILES_OF_CLUSTER,
    }
    if ground.user == 0 and not inotify.can_raise(ground.root):
        room["inotify"] = inotify.left(ground.root, clusters=len(others)) // inotify.needed()
    tightest, count = min(room.items(), key=lambda entry: entry[1])
    detail = several(
        f"about {count} more fit" if count else "no more fit",
        "memory is the limit" if tightest == "memory" else "",
        "ids for user namespaces are the limit" if tightest == "ids" else "",
        "private subnets are the limit" if tightest == "subnets" else "",
        "processes are the limit (kernel.pid_max, kernel.threads-max)" if tightest == "processes" else "",
        "open files are the limit (fs.file-max)" if tightest == "files" else "",
        "inotify instances are the limit (fs.inotify.max_user_instances)" if tightest == "inotify" else "",
    )
    if count:
        return fine(detail)
    return doubtful(detail, "Stop clusters you do not need (minikube profile list), or raise that limit.")


def _free_memory_mb(ground: Ground) -> int:
    return _memory(ground).get("MemAvailable", 0)


def _free_threads(ground: Ground) -> int:
    most = min(ground.number(f"/proc/sys/kernel/{name}", 1 << 22) for name in ("pid_max", "threads-max"))
    fields = ground.read("/proc/loadavg").split()
    running = fields[3].partition("/")[2] if len(fields) > 3 else ""
    return max(most - int(running or 0), 0)


def _free_files(ground: Ground) -> int:
    used, _, most = (int(number) for number in (ground.read("/proc/sys/fs/file-nr").split() or (0, 0, 1 << 40)))
    return max(most - used, 0)


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
