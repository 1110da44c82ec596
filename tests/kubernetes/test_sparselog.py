"""etcd's system call rules: the runtime's own, and one call refused."""

from __future__ import annotations

import errno
import json

from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.kubernetes.extraconfig import parse_extra_config
from minikube.kubernetes.sparselog import PROFILE, profile, profile_path

DEFAULTS = {
    "defaultAction": "SCMP_ACT_ERRNO",
    "architectures": ["SCMP_ARCH_X86_64"],
    "syscalls": [
        {"names": ["accept", "fallocate", "write"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["fallocate"], "action": "SCMP_ACT_ALLOW", "args": []},
        {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]},
    ],
}


def test_only_that_call_is_answered_otherwise():
    rules = json.loads(profile(json.dumps(DEFAULTS)))
    assert rules["syscalls"] == [
        {"names": ["accept", "write"], "action": "SCMP_ACT_ALLOW"},
        DEFAULTS["syscalls"][2],
        {"names": ["fallocate"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EOPNOTSUPP},
    ]
    assert {key: rules[key] for key in ("defaultAction", "architectures")} == {
        key: DEFAULTS[key] for key in ("defaultAction", "architectures")
    }


def test_it_is_where_this_clusters_kubelet_looks():
    file = PROFILE["seccompProfile"]["localhostProfile"]
    spec = ClusterSpec(version="v1.37.1", node_name="dev", node_ip="10.5.0.2")
    moved = ClusterSpec(
        version="v1.37.1", node_name="dev", node_ip="10.5.0.2", extra_options=parse_extra_config(["kubelet.root-dir=/var/lib/other"])
    )
    assert (profile_path(spec), profile_path(moved)) == (f"/var/lib/kubelet/seccomp/{file}", f"/var/lib/other/seccomp/{file}")
