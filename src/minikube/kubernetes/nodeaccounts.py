"""Users and groups of a node that Kubernetes looks for by name."""

from __future__ import annotations

# The kubelet asks for the ids of its user (see hostusers.py); the directory of the database belongs to etcd's.
ETCD_ID = 398
IDS = {"kubelet": 399, "etcd": ETCD_ID}


def users(before: bytes) -> str:
    """The node's /etc/passwd with these in it."""
    return _with(before, {name: f"{name}:x:{number}:{number}::/nonexistent:/usr/sbin/nologin" for name, number in IDS.items()})


def groups(before: bytes) -> str:
    """The node's /etc/group with these in it."""
    return _with(before, {name: f"{name}:x:{number}:" for name, number in IDS.items()})


def _with(before: bytes, lines: dict[str, str]) -> str:
    text = before.decode(errors="replace")
    known = {line.partition(":")[0] for line in text.splitlines()}
    return text + "".join(f"{line}\n" for name, line in lines.items() if name not in known)
