"""Small values that pass between drivers and the rest."""

from __future__ import annotations

from typing import NamedTuple

MINIMUM_CPUS = 2  # kubeadm's bound
MINIMUM_MEMORY_MB = 1800  # below this the control plane does not fit; upstream's bound


class Limits(NamedTuple):
    """What a node may use of the host; 0 means no limit."""

    cpus: float
    memory_mb: int
    pids: int


class File(NamedTuple):
    """A file to be in the node before its services start."""

    content: bytes
    mode: int = 0o644


class Result(NamedTuple):
    """How a command in a node ended."""

    code: int
    stdout: bytes
    stderr: bytes


class Machine(NamedTuple):
    """The computer a box stands on: this host, or another one."""

    cpus: int
    memory_mb: int
    cgroup_v2: bool
    capabilities: frozenset[str]
    """What can be granted to a node, as `CAP_…` names."""
    resolv_conf: str
    """For the node: only name servers that can be reached from there."""
    user_namespace: bool = False
    """Whether the node's root is somebody else there; known once the box is made."""
    pods_can_have_one: bool = True
    """Whether pods may have user namespaces of their own, also in that of the node."""
    user_ids: int = 1 << 24
    """How many ids there are in the node's user namespace."""


class DriverStatus(NamedTuple):
    """Whether a driver can work here, and if not, why and how to mend it."""

    installed: bool = True
    healthy: bool = True
    reason: str = ""
    fix: str = ""
    doc: str = ""
    version: str = ""
    id: str = ""
    """The reason to end with, where PROVIDER_<DRIVER>_NOT_FOUND or _ERROR would say less."""
