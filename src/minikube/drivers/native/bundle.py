"""The OCI bundle of a native node: what `runc` is told about the box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minikube.artifacts.components import Components
from minikube.drivers.native import rights
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.usernamespace import Enclosure
from minikube.drivers.values import Limits
from minikube.host import inherited
from minikube.host.capabilities import bounding_set
from minikube.host.untrustedtree import Tree
from minikube.node.places import RUN_SUPERVISOR, WRITABLE

# Persistent although below /tmp: where upstream's storage provisioner keeps volumes, and people's scripts look for them.
VOLUMES = "/tmp/hostpath-provisioner"  # noqa: S108 - a path inside the node
# Where the supervisor makes its socket. Among the node's own files: what else the node puts there is not for users of the host.
SOCKETS = "sockets"
# What of the node's own files is mounted where in it.
OWN_MOUNTS = {**{name: f"/{name}" for name in WRITABLE}, "hostpath-provisioner": VOLUMES, SOCKETS: "/run/minikube"}
# Hidden, not read-only: a hostPath volume of a read-only mount is writable again.
MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/bus", "/proc/irq", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/mtrr"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats", "/sys/firmware"),
)
NAMESPACES = ("pid", "ipc", "uts", "mount", "cgroup", "network")


def configuration(layout: Layout, components: Components, limits: Limits, enclosure: Enclosure | None = None) -> dict[str, Any]:
    """The bundle's config.json; with an enclosure, that of a node in a user namespace."""
    capabilities = rights.capabilities(bounding_set())
    mounts = _mounts(layout, components, Path(enclosure.machine_seen if enclosure else layout.place))
    return {
        "ociVersion": "1.2.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": [*RUN_SUPERVISOR],
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME=/root", "container=minikube", "LANG=C.UTF-8"],
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "inheritable", "permitted"), capabilities),
            "rlimits": [_limit(name, *values) for name, values in inherited.limits().items()],
            "noNewPrivileges": False,
        },
        "root": {"path": enclosure.root if enclosure else "rootfs", "readonly": True},
        "hostname": layout.machine.lower(),
        "mounts": _enclosed(mounts) if enclosure else mounts,
        "linux": {
            "namespaces": [{"type": kind} for kind in NAMESPACES + (("user",) if enclosure else ())],
            **({"uidMappings": enclosure.mappings, "gidMappings": enclosure.mappings} if enclosure else {}),
            "cgroupsPath": layout.cgroup,
            "rootfsPropagation": "shared",
            "devices": [device for device in rights.device_files() if not enclosure or device["path"] != "/dev/kmsg"],
            "resources": _resources(limits),
            "seccomp": rights.refused_calls(enclosure.listener if enclosure and enclosure.pods else ""),
            "maskedPaths": [*MASKED],
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
    for name, mode in {**dict.fromkeys(WRITABLE), "root": 0o700, "hostpath-provisioner": 0o777}.items():
        layout.files.make_directory(name, mode)
    (layout.images / "usr").mkdir(parents=True, exist_ok=True)
    close_to_users(layout)


def close_to_users(layout: Layout) -> None:
    """Nobody but the host's root gets at files that a node made: its setuid programs and device files would work on the host."""
    for tree in (layout.files, Tree(layout.images)):
        tree.close_to_users()


def _mounts(layout: Layout, components: Components, machine: Path) -> list[dict[str, Any]]:
    """`machine` is where its directory is for runc."""

    def bind(source: str | Path, destination: str, *options: str) -> dict[str, Any]:
        return {"destination": destination, "type": "bind", "source": str(source), "options": ["rbind", *options]}

    def fresh(destination: str, kind: str, *options: str, source: str = "") -> dict[str, Any]:
        return {"destination": destination, "type": kind, "source": source or kind, "options": list(options)}

    lower = ":".join(_escaped(path / "usr") for path in (machine / layout.images.name, components.node_binaries, components.node_image))
    return [
        fresh("/proc", "proc"),
        fresh("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        fresh("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
        fresh("/dev/shm", "tmpfs", "nosuid", "nodev", "mode=1777"),  # noqa: S108 - a path inside the node
        fresh("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
        fresh("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
        fresh("/sys/fs/cgroup", "cgroup", "nosuid", "noexec", "nodev", "rw"),
        # A container in a user namespace of its own (`hostUsers: false`) may mount these two only if the node has them with nothing
        # hidden in them. The kernel does not ask whether a path leads there, and none does: they are covered by the third.
        fresh("/dev/.minikube/proc", "proc"),
        fresh("/dev/.minikube/sys", "sysfs"),
        fresh("/dev/.minikube", "tmpfs", "nosuid", "nodev", "noexec", "ro", "mode=000", "size=4k"),
        fresh("/run", "tmpfs", "nosuid", "nodev", "mode=755"),
        fresh("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),  # noqa: S108 - a path inside the node
        # An overlay never writes to its lower directories, whoever remounts it: the store is out of the node's reach.
        fresh("/usr", "overlay", f"lowerdir={lower}", "ro", source="node"),
        *(bind(machine / layout.state(name).relative_to(layout.directory), where, "rw") for name, where in OWN_MOUNTS.items()),
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


def _limit(name: str, soft: int, hard: int) -> dict[str, Any]:
    """No limit at all is -1 in Python, and all bits in here."""
    return {"type": f"RLIMIT_{name}", "hard": hard & (1 << 64) - 1, "soft": soft & (1 << 64) - 1}


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
