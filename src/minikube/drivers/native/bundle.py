"""The OCI bundle of a native node: what `runc` is told about the box."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

from minikube.artifacts.components import Components
from minikube.drivers.native import rights
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.usernamespace import Enclosure
from minikube.drivers.values import Limits
from minikube.host.capabilities import bounding_set
from minikube.node.places import RUN_SUPERVISOR, WRITABLE

# Persistent although below /tmp: where upstream's storage provisioner keeps volumes, and people's scripts look for them.
VOLUMES = "/tmp/hostpath-provisioner"  # noqa: S108 - a path inside the node
NAMESPACES = ("pid", "ipc", "uts", "mount", "cgroup", "network")


def configuration(layout: Layout, components: Components, limits: Limits, enclosure: Enclosure | None = None) -> dict[str, Any]:
    """The bundle's config.json; with an enclosure, that of a node in a user namespace."""
    capabilities = rights.capabilities(bounding_set())
    mounts = _mounts(layout, components)
    return {
        "ociVersion": "1.2.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [*RUN_SUPERVISOR],
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME=/root", "container=minikube", "LANG=C.UTF-8"],
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "inheritable", "permitted"), capabilities),
            # All that this process may have: the last two do not bind the host's root, but they do bind a node's.
            "rlimits": [_limit(name) for name in ("NOFILE", "NPROC", "MEMLOCK")],
            "noNewPrivileges": False,
        },
        "root": {"path": enclosure.root if enclosure else "rootfs", "readonly": True},
        "hostname": layout.machine,
        "mounts": _enclosed(mounts) if enclosure else mounts,
        "linux": {
            "namespaces": [{"type": kind} for kind in NAMESPACES + (("user",) if enclosure else ())],
            **({"uidMappings": enclosure.mappings, "gidMappings": enclosure.mappings} if enclosure else {}),
            "cgroupsPath": layout.cgroup,
            "rootfsPropagation": "shared",
            "devices": [device for device in rights.device_files() if not enclosure or device["path"] != "/dev/kmsg"],
            "resources": _resources(limits),
            "seccomp": rights.refused_calls(enclosure.listener if enclosure and enclosure.pods else ""),
            "readonlyPaths": ["/proc/sysrq-trigger", "/proc/irq", "/proc/bus"],
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
        },
    }


def write_root(layout: Layout) -> None:
    """The mount points and links of the node's root. It stays as small as this: everything else is mounted."""
    for name in ("dev", "etc", "proc", "run", "sys", "tmp", "usr", "media", *WRITABLE):
        (layout.root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        link = layout.root / name
        if not link.is_symlink():
            link.symlink_to(f"usr/{name}")
    for name in (*WRITABLE, "hostpath-provisioner"):
        layout.state(name).mkdir(parents=True, exist_ok=True)
    layout.state("root").chmod(0o700)
    layout.state("hostpath-provisioner").chmod(0o777)
    (layout.images / "usr").mkdir(parents=True, exist_ok=True)
    layout.control_socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


def _mounts(layout: Layout, components: Components) -> list[dict[str, Any]]:
    def bind(source: str | Path, destination: str, *options: str) -> dict[str, Any]:
        return {"destination": destination, "type": "bind", "source": str(source), "options": ["rbind", *options]}

    def fresh(destination: str, kind: str, *options: str, source: str = "") -> dict[str, Any]:
        return {"destination": destination, "type": kind, "source": source or kind, "options": list(options)}

    lower = ":".join(_escaped(path / "usr") for path in (layout.images, components.node_binaries, components.node_image))
    return [
        fresh("/proc", "proc"),
        fresh("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        fresh("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
        fresh("/dev/shm", "tmpfs", "nosuid", "nodev", "mode=1777"),  # noqa: S108 - a path inside the node
        fresh("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
        fresh("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
        fresh("/sys/fs/cgroup", "cgroup", "nosuid", "noexec", "nodev", "rw"),
        # A container in a user namespace of its own (`hostUsers: false`) may mount these two only if they lie open somewhere already.
        fresh("/dev/.minikube/proc", "proc"),
        fresh("/dev/.minikube/sys", "sysfs"),
        fresh("/run", "tmpfs", "nosuid", "nodev", "mode=755"),
        fresh("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),  # noqa: S108 - a path inside the node
        # An overlay never writes to its lower directories, whoever remounts it: the store is out of the node's reach.
        fresh("/usr", "overlay", f"lowerdir={lower}", "ro", source="node"),
        *(bind(layout.state(name), f"/{name}", "rw") for name in WRITABLE),
        bind(layout.state("hostpath-provisioner"), VOLUMES, "rw"),
        bind(layout.control_socket.parent, "/run/minikube", "rw"),
    ]


def _enclosed(mounts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For a node in a user namespace: /usr is in place before runc comes; files on disk belong to whom they belong in the node."""
    changed = [_in_user_namespace(mount) for mount in mounts if mount["destination"] != "/usr"]
    # runc would bring the host's: device files cannot be made in a user namespace.
    return [*changed, {"destination": "/dev/kmsg", "type": "bind", "source": "/dev/null", "options": ["bind", "rw"]}]


def _in_user_namespace(mount: dict[str, Any]) -> dict[str, Any]:
    if mount["type"] == "bind":
        return mount | {"options": [*mount["options"], "ridmap"]}
    if mount["type"] == "sysfs":
        # Read-only once, no container could mount it any more. Nothing in there is the node's to write anyway.
        return mount | {"options": [option for option in mount["options"] if option != "ro"]}
    return mount


def _limit(name: str) -> dict[str, Any]:
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] & (1 << 64) - 1  # no limit at all is -1 here
    return {"type": f"RLIMIT_{name}", "hard": hard, "soft": hard}


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _resources(limits: Limits) -> dict[str, Any]:
    resources: dict[str, Any] = {"devices": rights.device_rules()}
    if limits.memory_mb:
        resources["memory"] = {"limit": limits.memory_mb << 20}
    if limits.cpus:
        resources["cpu"] = {"period": 100_000, "quota": int(limits.cpus * 100_000)}
    if limits.pids:
        resources["pids"] = {"limit": limits.pids}
    return resources
