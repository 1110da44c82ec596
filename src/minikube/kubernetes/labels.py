"""What minikube, and kubeadm's mark-control-plane phase, put on a node and into its cluster."""

from __future__ import annotations

import time
from typing import Any


def node_labels(*, profile: str, version: str, commit: str, primary: bool) -> dict[str, str]:
    """Upstream's labels, and for the control plane those of kubeadm. One patch sets them all."""
    labels = {
        "minikube.k8s.io/name": profile,
        "minikube.k8s.io/version": version,
        "minikube.k8s.io/commit": commit,
        "minikube.k8s.io/updated_at": time.strftime("%Y_%m_%dT%H_%M_%S_0700"),
        "minikube.k8s.io/primary": str(primary).lower(),
    }
    if primary:
        labels["node-role.kubernetes.io/control-plane"] = ""
        labels["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
    return labels


def rbac_binding() -> dict[str, Any]:
    """Upstream's `minikube-rbac`: kube-system's default account may do everything, which addons of users rely on."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "minikube-rbac"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "kube-system"}],
    }
