"""etcd's log takes the space of what is in it, instead of 128 MB from its first moment on.

etcd reserves 64 MB of log, and the next 64, with `fallocate`; told that this cannot be done here, as on many file systems, it makes a file
with a hole. So its container gets the runtime's own system call rules, with that answer to that call.
"""

from __future__ import annotations

import errno
import json
from typing import Any

from minikube.kubernetes.clusterspec import ClusterSpec

_CALL = "fallocate"
_FILE = "etcd.json"
PROFILE: dict[str, Any] = {"seccompProfile": {"type": "Localhost", "localhostProfile": _FILE}}
"""The security context of etcd's container."""


def profile_path(spec: ClusterSpec) -> str:
    """Where the kubelet looks for it."""
    return f"{dict(spec.options('kubelet')).get('root-dir', '/var/lib/kubelet')}/seccomp/{_FILE}"


def profile(defaults: str) -> str:
    """The runtime's default rules, but for the one call."""
    rules = json.loads(defaults)
    for rule in rules["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name != _CALL]
    rules["syscalls"] = [rule for rule in rules["syscalls"] if rule["names"]]
    rules["syscalls"].append({"names": [_CALL], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EOPNOTSUPP})
    return json.dumps(rules, indent=1) + "\n"
