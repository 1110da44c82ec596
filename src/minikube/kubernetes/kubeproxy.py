"""kube-proxy: the objects of kubeadm's addon phase, as data, so that they are posted with everything else on one connection."""

from __future__ import annotations

from typing import Any

from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME, ClusterSpec
from minikube.kubernetes.kubeadm import dump_yaml, kube_proxy_configuration

LABELS = {"k8s-app": "kube-proxy"}
_RBAC = "rbac.authorization.k8s.io"


def kube_proxy_objects(spec: ClusterSpec, *, image: str) -> list[dict[str, Any]]:
    """Everything kube-proxy needs, in the order it should be created."""
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata("kube-proxy")},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "kubeadm:node-proxier"},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "system:node-proxier"},
            "subjects": [{"kind": "ServiceAccount", "name": "kube-proxy", "namespace": "kube-system"}],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": _metadata("kube-proxy"),
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["kube-proxy"]}],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": _metadata("kube-proxy"),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": "kube-proxy"},
            "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": "system:bootstrappers:kubeadm:default-node-token"}],
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata("kube-proxy", labels={"app": "kube-proxy"}),
            "data": {"kubeconfig.conf": _kubeconfig(spec.port), "config.conf": dump_yaml(kube_proxy_configuration(spec))},
        },
        _daemon_set(image),
    ]


def _metadata(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": "kube-system", **more}


def _kubeconfig(port: int) -> str:
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    return f"""apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: {account}/ca.crt
    server: https://{CONTROL_PLANE_NAME}:{port}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: {account}/token
"""


def _daemon_set(image: str) -> dict[str, Any]:
    container = {
        "name": "kube-proxy",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf", "--hostname-override=$(NODE_NAME)"],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"mountPath": "/var/lib/kube-proxy", "name": "kube-proxy"},
            {"mountPath": "/run/xtables.lock", "name": "xtables-lock", "readOnly": False},
            {"mountPath": "/lib/modules", "name": "lib-modules", "readOnly": True},
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    }
    pod = {
        "priorityClassName": "system-node-critical",
        "containers": [container],
        "hostNetwork": True,
        "serviceAccountName": "kube-proxy",
        "volumes": [
            {"name": "kube-proxy", "configMap": {"name": "kube-proxy"}},
            {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
            {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
        ],
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _metadata("kube-proxy", labels=LABELS),
        "spec": {
            "selector": {"matchLabels": LABELS},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        },
    }
