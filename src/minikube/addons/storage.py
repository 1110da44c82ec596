"""The two addons every cluster has: the default StorageClass and the provisioner behind it."""

from __future__ import annotations

from typing import Any

PROVISIONER_IMAGE = "gcr.io/k8s-minikube/storage-provisioner:v5"
PROVISIONER = "k8s.io/minikube-hostpath"
_MODE = "addonmanager.kubernetes.io/mode"
BARE_POD = "/api/v1/namespaces/kube-system/pods/storage-provisioner"
"""What the provisioner was in clusters of version 0.1.0."""


LABELS = {"storage-provisioner": ("integration-test", "storage-provisioner")}
"""By which the pods of an addon are found, of those that have any."""


def addons() -> dict[str, list[dict[str, Any]]]:
    """The objects of each."""
    return {"default-storageclass": storage_class_objects(), "storage-provisioner": storage_provisioner_objects()}


def storage_class_objects() -> list[dict[str, Any]]:
    """`standard`, the class of claims that name none; volumes are bound at once."""
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": "standard",
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                "labels": {_MODE: "EnsureExists"},
            },
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
        }
    ]


def storage_provisioner_objects(*, image: str = PROVISIONER_IMAGE) -> list[dict[str, Any]]:
    """The provisioner, which makes a directory of the node for every claim, and its rights.

    A Deployment, where upstream has a bare Pod: evicted, deleted or failed, that would never come back.
    """
    name = "storage-provisioner"
    labels = {"integration-test": name}
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "kube-system", "labels": {_MODE: "Reconcile"}},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name, "labels": {_MODE: "EnsureExists"}},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "system:persistent-volume-provisioner",
            },
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "kube-system", "labels": {**labels, _MODE: "Reconcile"}},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "strategy": {"type": "Recreate"},  # two at a time would both answer a claim
                "template": {"metadata": {"labels": {**labels, _MODE: "Reconcile"}}, "spec": _pod(name, image)},
            },
        },
    ]


def _pod(name: str, image: str) -> dict[str, Any]:
    return {
        "serviceAccountName": name,
        "hostNetwork": True,
        "priorityClassName": "system-cluster-critical",
        "tolerations": [
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
        ],
        "containers": [
            {
                "name": name,
                "image": image,
                "command": ["/storage-provisioner"],
                "imagePullPolicy": "IfNotPresent",
                "volumeMounts": [{"mountPath": "/tmp", "name": "tmp"}],  # noqa: S108 - upstream's place for volumes
            }
        ],
        "volumes": [{"name": "tmp", "hostPath": {"path": "/tmp", "type": "Directory"}}],  # noqa: S108
    }
