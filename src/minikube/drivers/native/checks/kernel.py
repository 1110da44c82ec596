"""The kernel: what it is, what it has, and what of it this process may use."""

from __future__ import annotations

import re

from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking
from minikube.drivers.native.checks.mounts import mount_of
from minikube.host import rootrights
from minikube.host.capabilities import NAMES
from minikube.host.modules import ABSENT, availability

OLDEST = (4, 19)  # what kubeadm and the components are tested with
NAMESPACES = ("pid", "net", "mnt", "ipc", "uts", "cgroup")
V1_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids")
V2_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
# containerd gives these to every container, and nobody can give what is not in the bounding set; the first two are the node's own.
CAPABILITIES = (
    "SYS_ADMIN NET_ADMIN CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL "
    "AUDIT_WRITE"
).split()
WITHOUT = {
    "SYS_RESOURCE": "containers cannot be protected from the out-of-memory killer, limits cannot be raised",
    "SYS_PTRACE": "processes of other pods cannot be debugged",
    "SYSLOG": "the kubelet cannot see out-of-memory kills",
}
ROOT_RIGHTS = "the native driver makes namespaces and a network bridge, which needs root rights"
_ENABLE_MEMORY = "Add cgroup_enable=memory to the kernel's command line and reboot."
_PRIVILEGED = "Inside a container, run that container with --privileged."


def system(ground: Ground) -> Finding:
    if not ground.platform.startswith("linux"):
        return lacking(f"the native driver needs Linux, this is {ground.platform}", "Use minikube in a Linux virtual machine.")
    if ground.architecture not in ("x86_64", "aarch64"):
        return doubtful(f"Linux on {ground.architecture}: nobody has tried", "Use a machine with an x86_64 or aarch64 processor.")
    return fine(f"Linux on {ground.architecture}")


def root_rights(ground: Ground) -> Finding:
    if ground.user == 0:
        return fine("you are root")
    found = rootrights.way()
    if found == rootrights.SUDO:
        return fine("start, stop and delete get them from sudo")
    if found == rootrights.PASSWORD:
        return fine("start, stop and delete get them from sudo, which asks for your password")
    refused = rootrights.refusal(ROOT_RIGHTS)
    return lacking(refused.message, refused.advice)


def version(ground: Ground) -> Finding:
    number = re.match(r"(\d+)\.(\d+)", ground.kernel)
    if number and tuple(map(int, number.groups())) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return lacking(f"{ground.kernel} is too old for Kubernetes", f"Update the system to a kernel of version {wanted} or newer.")
    return fine(ground.kernel)


def namespaces(ground: Ground) -> Finding:
    absent = [kind for kind in NAMESPACES if not ground.path(f"/proc/self/ns/{kind}").exists()]
    if absent:
        return lacking(f"this kernel has none of the kind {', '.join(absent)}", "Use a kernel that is built with all namespaces.")
    forbidden = [kind for kind in NAMESPACES if ground.number(f"/proc/sys/user/max_{kind}_namespaces", 1) == 0]
    if forbidden:
        return lacking(
            f"none of the kind {', '.join(forbidden)} may be made",
            f"Run: sudo sysctl -w {' '.join(f'user.max_{kind}_namespaces=1024' for kind in forbidden)}",
        )
    if not ground.path("/proc/self/ns/user").exists() or ground.number("/proc/sys/user/max_user_namespaces", 1) == 0:
        return doubtful(
            f"{', '.join(NAMESPACES)}; no user namespaces: pods with hostUsers: false cannot run",
            "Run: sudo sysctl -w user.max_user_namespaces=15000",
        )
    return fine(", ".join((*NAMESPACES, "user")))


def user_namespace(ground: Ground) -> Finding:
    first = ground.read("/proc/self/uid_map").split()
    if not first or (first[0] == first[1] == "0" and int(first[2]) >= 2**32 - 1):
        return fine("this is the host's own")
    return doubtful("root here is an ordinary user outside (a rootless container): devices cannot be made", _PRIVILEGED)


def control_groups(ground: Ground) -> Finding:
    if ground.path("/sys/fs/cgroup/cgroup.controllers").exists():
        return _unified(ground)
    mounted = {name.name for name in ground.path("/sys/fs/cgroup").glob("*") if name.is_dir()}
    absent = [name for name in V1_CONTROLLERS if name not in mounted]
    if "memory" in absent:
        return lacking("the memory controller is switched off", _ENABLE_MEMORY)
    if absent:
        return lacking(
            f"version 1, and these controllers are not mounted: {', '.join(absent)}",
            "Mount the cgroup tree, for example with the package cgroupfs-mount; or boot with version 2.",
        )
    if _read_only(ground, "/sys/fs/cgroup/memory"):
        return lacking("version 1, mounted read-only", _PRIVILEGED)
    return doubtful(
        "version 1: it works, but Kubernetes is about to give it up",
        "Boot with version 2: add systemd.unified_cgroup_hierarchy=1 to the kernel's command line.",
    )


def _unified(ground: Ground) -> Finding:
    have = ground.read("/sys/fs/cgroup/cgroup.controllers").split()
    absent = [name for name in V2_CONTROLLERS if name not in have]
    if absent:
        fix = _ENABLE_MEMORY if absent == ["memory"] else "Enable them in the kernel, or in the cgroup that this container runs in."
        return lacking(f"version 2, without the controllers {', '.join(absent)}", fix)
    if _read_only(ground, "/sys/fs/cgroup"):
        return lacking("version 2, mounted read-only", _PRIVILEGED)
    # Only the machine's real root has no type. Elsewhere, a group with processes of its own cannot hand memory limits to groups below it.
    nested = ground.path("/sys/fs/cgroup/cgroup.type").exists()
    enabled = ground.read("/sys/fs/cgroup/cgroup.subtree_control").split()
    if nested and "memory" not in enabled and ground.read("/sys/fs/cgroup/cgroup.procs").split():
        return lacking(
            "version 2, but the group this container runs in has processes of its own and cannot be divided",
            "Run the container with --cgroupns=host, or move its processes into a group below first.",
        )
    return fine("version 2")


def capabilities(ground: Ground) -> Finding:
    mask = next((line.split()[1] for line in ground.read("/proc/self/status").splitlines() if line.startswith("CapBnd:")), "")
    if not mask:
        return doubtful("the bounding set could not be read", "Mount /proc.")
    have = {name for number, name in enumerate(NAMES) if int(mask, 16) >> number & 1}
    absent = [name for name in CAPABILITIES if name not in have]
    if absent:
        return lacking(f"{', '.join(f'CAP_{name}' for name in absent)} cannot be given to a node", _PRIVILEGED)
    limits = [f"without CAP_{name} {meaning}" for name, meaning in WITHOUT.items() if name not in have]
    if limits:
        return doubtful("; ".join(limits), "A cluster works without. " + _PRIVILEGED)
    return fine("all that nodes and pods are given")


def overlay(ground: Ground) -> Finding:
    if "overlay" in ground.read("/proc/filesystems").split():
        return fine("known to the kernel")
    if availability(ground.root, ground.kernel, "overlay") == ABSENT:
        return lacking("this kernel has no overlayfs", "Use a kernel that is built with CONFIG_OVERLAY_FS.")
    return fine("loaded when it is needed")


def messages(ground: Ground) -> Finding:
    if ground.path("/dev/kmsg").exists():
        return fine("/dev/kmsg is there")
    return doubtful("/dev/kmsg is missing: the kubelet cannot tell which pods ran out of memory", "Run: sudo mknod /dev/kmsg c 1 11")


def _read_only(ground: Ground, path: str) -> bool:
    found = mount_of(ground, ground.path(path))
    return found is not None and "ro" in found.options
