"""The two addons every cluster has: the default StorageClass and the provisioner behind it."""

from __future__ import annotations

from typing import Any

PROVISIONER_IMAGE = "gcr.io/k8s-minikube/storage-provisioner:v5"
PROVISIONER = "k8s.io/minikube-hostpath"
_MODE = "addonmanager.kubernetes.io/mode"


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
    """The pod that makes a directory of the node for every claim, and its rights."""
    name = "storage-provisioner"
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
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "kube-system",
                "labels": {"integration-test": name, _MODE: "Reconcile"},
            },
            "spec": {
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
            },
        },
    ]
