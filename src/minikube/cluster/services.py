"""What runs in a node besides containers: the supervisor's metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikube.kubernetes.clusterspec import CONTAINERD_SOCKET, KUBERNETES_DIRECTORY, ClusterSpec
from minikube.kubernetes.kubeadm import write_files_command
from minikube.kubernetes.kubelet import kubelet_command

PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}


def metadata(spec: ClusterSpec, *, setup: Sequence[dict[str, Any]], write_manifests: bool) -> dict[str, Any]:
    """Containerd and the kubelet; for a new or changed cluster, kubeadm writes the control plane's manifests beside containerd's start."""
    socket = CONTAINERD_SOCKET.removeprefix("unix://")
    services: list[dict[str, Any]] = [
        {
            "name": "containerd",
            "argv": ["containerd", "--config", "/etc/containerd/config.toml"],
            "env": PATH,
            "ready": {"socket": socket},
        }
    ]
    if write_manifests:
        services.append({"name": "kubeadm", "kind": "oneshot", "argv": write_files_command(spec), "env": PATH})
    services.append(
        {
            "name": "kubelet",
            "argv": kubelet_command(spec),
            "env": PATH,
            "after": ["containerd", *(["kubeadm"] if write_manifests else []), f"{KUBERNETES_DIRECTORY}/kubelet.conf"],
        }
    )
    return {
        "name": spec.node_name,
        "setup": list(setup),
        "services": services,
        # etcd closes its files cleanly only if it is asked to end before the runtime that holds it does.
        "drain_before": ["containerd"],
    }
