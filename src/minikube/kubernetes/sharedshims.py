"""The cluster's own pods share two shims, where containerd would run one for each of them.

A shim is what stands between containerd and the containers of a pod: a process of 5 MB that is woken whenever somebody asks how its
containers are. It makes one container after the other, so there are two of them: etcd and the API server are made at the same time. Pods of
users have shims of their own.
"""

from __future__ import annotations

from typing import Any

ANNOTATION = "io.containerd.runc.v2.group"
_FIRST, _SECOND = {ANNOTATION: "minikube-1"}, {ANNOTATION: "minikube-2"}
_GROUPS = {
    "etcd": _FIRST,
    "kube-apiserver": _SECOND,
    "kube-controller-manager": _FIRST,
    "kube-scheduler": _SECOND,
    "kube-proxy": _FIRST,
    "coredns": _SECOND,
    "storage-provisioner": _FIRST,
}


def group_of(component: str) -> dict[str, str]:
    """The annotation of its pod."""
    return _GROUPS[component]


def in_groups(obj: dict[str, Any]) -> dict[str, Any]:
    """The object; if it makes pods, those are in a group."""
    if obj["kind"] not in ("DaemonSet", "Deployment"):
        return obj
    template = obj["spec"]["template"]
    template = template | {"metadata": _annotated(template["metadata"], obj["metadata"]["name"])}
    return obj | {"spec": obj["spec"] | {"template": template}}


def _annotated(metadata: dict[str, Any], component: str) -> dict[str, Any]:
    return metadata | {"annotations": metadata.get("annotations", {}) | group_of(component)}
