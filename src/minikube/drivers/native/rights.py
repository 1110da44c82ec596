"""What a native node may do on the host: its capabilities and its devices, each with the reason why it has to be there.

docs/security.md has the same table; a test compares them.
"""

from __future__ import annotations

import errno
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

POD_DEFAULT = "part of what the runtime gives every pod"
CAPABILITIES = {
    "CAP_AUDIT_WRITE": POD_DEFAULT,
    "CAP_CHOWN": POD_DEFAULT,
    "CAP_DAC_OVERRIDE": POD_DEFAULT,
    "CAP_FOWNER": POD_DEFAULT,
    "CAP_FSETID": POD_DEFAULT,
    "CAP_KILL": POD_DEFAULT,
    "CAP_MKNOD": POD_DEFAULT,
    "CAP_NET_BIND_SERVICE": POD_DEFAULT,
    "CAP_NET_RAW": POD_DEFAULT,
    "CAP_SETFCAP": POD_DEFAULT,
    "CAP_SETGID": POD_DEFAULT,
    "CAP_SETPCAP": POD_DEFAULT,
    "CAP_SETUID": POD_DEFAULT,
    "CAP_SYS_CHROOT": POD_DEFAULT,
    "CAP_IPC_LOCK": "pods that keep secrets out of swap ask for it; locked memory counts towards the node's limit",
    "CAP_NET_ADMIN": "the pods' cables, kube-proxy's rules: all in the node's own network namespace",
    "CAP_SYS_ADMIN": "namespaces, control groups and mounts of containers and volumes",
    "CAP_SYS_NICE": "the runtime moves processes of other users between control groups, where the kernel asks for it (cpuset)",
    "CAP_SYS_PTRACE": "the runtime enters containers that run as other users (kubectl exec, probes)",
    "CAP_SYS_RESOURCE": "OOM scores and limits of containers; left out where the host itself lacks it",
}

# Why the others are not there. Everything that neither table has is new in the kernel, and is not granted either.
WITHHELD = {
    "CAP_AUDIT_CONTROL": "the audit rules are the host's",
    "CAP_AUDIT_READ": "the audit log is the host's",
    "CAP_BLOCK_SUSPEND": "whether the host sleeps is not a cluster's affair",
    "CAP_BPF": "CAP_SYS_ADMIN includes it where the runtime needs it for device rules",
    "CAP_CHECKPOINT_RESTORE": "nothing uses it",
    "CAP_DAC_READ_SEARCH": "opens any file of the host by its number, around every mount (open_by_handle_at)",
    "CAP_IPC_OWNER": "nothing uses it",
    "CAP_LEASE": "nothing uses it",
    "CAP_LINUX_IMMUTABLE": "a file marked immutable could not be deleted with the cluster",
    "CAP_MAC_ADMIN": "the security policy is the host's",
    "CAP_MAC_OVERRIDE": "the security policy is the host's",
    "CAP_NET_BROADCAST": "nothing uses it",
    "CAP_PERFMON": "nothing uses it",
    "CAP_SYSLOG": "the kernel's log is the host's",
    "CAP_SYS_BOOT": "reboots the host",
    "CAP_SYS_MODULE": "loads code into the kernel",
    "CAP_SYS_PACCT": "process accounting is the host's",
    "CAP_SYS_RAWIO": "hardware, and the kernel's memory",
    "CAP_SYS_TIME": "the clock is the host's",
    "CAP_SYS_TTY_CONFIG": "terminals are the host's",
    "CAP_WAKE_ALARM": "wakes the host",
}

DEVICES = {
    "1:3": "/dev/null",
    "1:5": "/dev/zero",
    "1:7": "/dev/full",
    "1:8": "/dev/random",
    "1:9": "/dev/urandom",
    "5:0": "/dev/tty",
    "5:1": "/dev/console",
    "5:2": "/dev/ptmx, in the node's own devpts",
    "136:*": "pseudo terminals, in the node's own devpts",
    "10:200": "/dev/net/tun: VPNs in pods, in their own network namespace",
    "10:229": "/dev/fuse: file systems in pods, in their own mount namespace",
}

# Refused to everything in the node, whatever its rights; the filter is inherited and nobody can take it off.
REFUSED_CALLS = {
    "acct": "process accounting is the host's",
    "delete_module": "the kernel's modules are the host's",
    "finit_module": "the kernel's modules are the host's",
    "init_module": "the kernel's modules are the host's",
    "kexec_file_load": "the kernel is the host's",
    "kexec_load": "the kernel is the host's",
    "open_by_handle_at": "opens files, and namespaces of the host, by their number",
    "perf_event_open": "watches the host's processes and its kernel",
    "quotactl": "quotas are the host's",
    "quotactl_fd": "quotas are the host's",
    "sched_setattr": "real-time priority goes past the node's CPU limit",
    "swapoff": "swap is the host's",
    "swapon": "swap is the host's",
}
# What somebody on the host decides about, where pods may have user namespaces in a node that is in one: podmounts.py.
WATCHED_CALL = "mount_setattr"
_REAL_TIME = (1, 2, 6)  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE
_NEXT_NAMESPACE = (0x8010B70B, 0x8010B70C)  # NS_MNT_GET_NEXT and NS_MNT_GET_PREV lead from mount namespace to mount namespace
_ARCHITECTURES = {"x86_64": ("X86_64", "X86", "X32"), "aarch64": ("AARCH64", "ARM")}


def capabilities(available: list[str]) -> list[str]:
    """What to grant, of what this process could hand on."""
    return [name for name in available if name in CAPABILITIES]


def device_rules() -> list[Mapping[str, Any]]:
    """No disk can be opened in the node, whoever makes a device file for it there.

    Making device files is allowed because the runtime's own list for pods has it: on cgroup v1 a group cannot have more than the one
    above it.
    """
    rules: list[Mapping[str, Any]] = [{"allow": False, "access": "rwm"}]
    rules += [{"allow": True, "type": kind, "access": "m"} for kind in ("b", "c")]
    for number in DEVICES:
        major, _, minor = number.partition(":")
        rule: dict[str, Any] = {"allow": True, "type": "c", "major": int(major), "access": "rwm"}
        rules.append(rule if minor == "*" else rule | {"minor": int(minor)})
    return rules


def refused_calls(listener: str = "") -> dict[str, Any]:
    """The bundle's seccomp filter, for every way this machine can be asked: otherwise 32-bit programs would go around it.

    With a listener's socket, one call waits for its answer.
    """
    refuse = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    rules: list[dict[str, Any]] = [{"names": sorted(REFUSED_CALLS), **refuse}]
    # Masks, because the kernel looks at fewer bits than a caller can set.
    for call, mask, values in (("sched_setscheduler", 0xF, _REAL_TIME), ("ioctl", 0xFFFFFFFF, _NEXT_NAMESPACE)):
        for value in values:
            test = {"index": 1, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
            rules.append({"names": [call], "args": [test], **refuse})
    watched = {}
    if listener:
        rules.append({"names": [WATCHED_CALL], "action": "SCMP_ACT_NOTIFY"})
        watched["listenerPath"] = listener
    architectures = [f"SCMP_ARCH_{name}" for name in _ARCHITECTURES.get(platform.machine(), ())]
    return {"defaultAction": "SCMP_ACT_ALLOW", "architectures": architectures, "syscalls": rules, **watched}


def device_files() -> list[dict[str, Any]]:
    """Device files besides those that runc makes by itself.

    The kubelet does not start without a kernel log to watch. The real one is the host's, with its processes and their numbers: the
    kubelet gets an empty one.
    """
    files = [_device("/dev/kmsg", 1, 3)]
    if Path("/dev/fuse").exists():
        number = Path("/dev/fuse").stat().st_rdev
        files.append(_device("/dev/fuse", os.major(number), os.minor(number)))
    return files


def _device(path: str, major: int, minor: int) -> dict[str, Any]:
    return {"path": path, "type": "c", "major": major, "minor": minor, "fileMode": 0o666, "uid": 0, "gid": 0}
