"""A whole machine as a `runc` container: what runc is told of it, but for what makes each of them special."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minikube.host.capabilities import bounding_set

Mount = dict[str, Any]


def mount(destination: str, kind: str, *options: str) -> Mount:
    return {"destination": destination, "type": kind, "source": kind, "options": list(options)}


def bind(source: Path, destination: str | Path, *options: str) -> Mount:
    return {"destination": str(destination), "type": "bind", "source": str(source), "options": ["rbind", *options]}


def device(path: str, major: int, minor: int) -> dict[str, Any]:
    return {"path": path, "type": "c", "major": major, "minor": minor, "fileMode": 0o666, "uid": 0, "gid": 0}


KERNEL_MESSAGES = device("/dev/kmsg", 1, 11)


def machine_spec(
    argv: Sequence[str],
    *,
    name: str,
    group: str,
    mounts: Sequence[Mount],
    devices: Sequence[dict[str, Any]],
    environment: Sequence[str] = (),
) -> dict[str, Any]:
    """Every namespace but the user's, every right, and a control group of its own; the root is the directory `rootfs`."""
    return {
        "ociVersion": "1.2.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": list(argv),
            "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", *environment],
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "inheritable", "permitted"), bounding_set()),
            "noNewPrivileges": False,
        },
        "root": {"path": "rootfs", "readonly": False},
        "hostname": name,
        "mounts": [
            mount("/proc", "proc"),
            mount("/dev", "tmpfs", "nosuid", "mode=755"),
            mount("/dev/pts", "devpts", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
            mount("/dev/shm", "tmpfs", "nosuid", "nodev", "mode=1777"),
            mount("/dev/mqueue", "mqueue"),
            mount("/sys", "sysfs"),
            mount("/sys/fs/cgroup", "cgroup", "rw"),
            mount("/run", "tmpfs", "nosuid", "nodev", "mode=755"),
            mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),
            *mounts,
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "cgroup", "network")],
            "cgroupsPath": group,
            "devices": list(devices),
            "resources": {"devices": [{"allow": True, "access": "rwm"}]},
        },
    }
