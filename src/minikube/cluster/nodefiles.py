"""Everything that is on a node's disk before its first process starts, apart from what the image and the certificates bring."""

from __future__ import annotations

import uuid

from minikube.drivers.base import Node
from minikube.drivers.values import File, Machine
from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME, KUBEADM_FILE, KUBELET_FILE, PATCHES_DIRECTORY, ClusterSpec
from minikube.kubernetes.kubeadm import dump_yaml, kubeadm_documents, static_pod_patches
from minikube.kubernetes.kubelet import kubelet_configuration
from minikube.runtimes import containerd

HOST_NAME = "host.minikube.internal"


def node_files(spec: ClusterSpec, node: Node, *, pause_image: str, machine: Machine) -> dict[str, File]:
    """Path in the node to content."""
    restrict_oom_score = "CAP_SYS_RESOURCE" not in machine.capabilities
    texts = {
        KUBEADM_FILE: kubeadm_documents(spec),
        KUBELET_FILE: dump_yaml(kubelet_configuration(spec)),
        **{f"{PATCHES_DIRECTORY}/{name}": text for name, text in static_pod_patches().items()},
        "/etc/containerd/config.toml": containerd.configuration(sandbox_image=pause_image, restrict_oom_score_adj=restrict_oom_score),
        "/etc/cni/net.d/1-k8s.conflist": containerd.cni_configuration(spec.pod_network),
        "/etc/crictl.yaml": f"runtime-endpoint: {spec.cri_socket}\nimage-endpoint: {spec.cri_socket}\n",
        "/etc/hostname": f"{spec.node_name}\n",
        "/etc/resolv.conf": machine.resolv_conf,
        "/etc/hosts": hosts(node.read("/etc/hosts") or b"", spec, node.gateway),
    }
    if node.read("/etc/machine-id") is None:
        texts["/etc/machine-id"] = uuid.uuid4().hex + "\n"
    return {path: File(text.encode()) for path, text in texts.items()}


def hosts(before: bytes, spec: ClusterSpec, gateway: str) -> str:
    """The node's /etc/hosts: our names point where they should, lines that a user added stay."""
    ours = {
        "localhost": "127.0.0.1",
        spec.node_name: spec.node_ip,
        CONTROL_PLANE_NAME: spec.node_ip,
        HOST_NAME: gateway,
    }
    kept = [line for line in before.decode(errors="replace").splitlines() if line.strip() and not ours.keys() & set(line.split()[1:])]
    return "".join(f"{line}\n" for line in [*(f"{address}\t{name}" for name, address in ours.items()), *kept])
