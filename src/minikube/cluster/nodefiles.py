"""Everything that is on a node's disk before its first process starts, apart from what the image and the certificates bring."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from minikube.artifacts.prepared import SECCOMP
from minikube.cluster.services import API_DOOR, FORERUNNERS, RENEWAL
from minikube.drivers.base import Node
from minikube.drivers.values import File, Machine
from minikube.host.credentials import as_root
from minikube.kubernetes import hostusers, nodeaccounts, secretsatrest, sharedshims, sparselog
from minikube.kubernetes.apiserverfiles import apiserver_files
from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME, KUBEADM_FILE, KUBELET_FILE, PATCHES_DIRECTORY, ClusterSpec
from minikube.kubernetes.kubeadm import dump_yaml, kubeadm_documents, static_pod_patches
from minikube.kubernetes.kubelet import SERVICE_FILE, kubelet_configuration, kubelet_service
from minikube.node import apidoor, forerunners, renewal, systemctl
from minikube.node.forerunners import ADDRESSES
from minikube.runtimes import containerd

HOST_NAME = "host.minikube.internal"
SYSTEMCTL = "/etc/minikube/systemctl.py"


def node_files(
    spec: ClusterSpec, node: Node, *, pause_image: str, machine: Machine, registries: Mapping[str, str], prepared_store: Path
) -> dict[str, File]:
    """Path in the node to content."""
    texts = {
        KUBEADM_FILE: kubeadm_documents(spec),
        **{f"{PATCHES_DIRECTORY}/{name}": text for name, text in static_pod_patches(spec).items()},
        sparselog.profile_path(spec): sparselog.profile(_seccomp(prepared_store)),
        "/etc/containerd/config.toml": containerd.configuration(
            sandbox_image=pause_image,
            restrict_oom_score_adj=not spec.lowers_oom_scores,
            own_keyrings=not machine.user_namespace,
            heeded=[sharedshims.ANNOTATION],
        ),
        **registries,
        "/etc/cni/net.d/1-k8s.conflist": containerd.cni_configuration(spec.pod_network),
        "/etc/crictl.yaml": f"runtime-endpoint: {spec.cri_socket}\nimage-endpoint: {spec.cri_socket}\n",
        API_DOOR: Path(apidoor.__file__).read_text(),
        FORERUNNERS: Path(forerunners.__file__).read_text(),
        RENEWAL: Path(renewal.__file__).read_text(),
        SYSTEMCTL: Path(systemctl.__file__).read_text(),
        "/etc/hostname": f"{spec.node_name}\n",
        "/etc/resolv.conf": machine.resolv_conf,
        "/etc/passwd": nodeaccounts.users(node.read("/etc/passwd") or b""),
        "/etc/group": nodeaccounts.groups(node.read("/etc/group") or b""),
        "/etc/hosts": hosts(node.read("/etc/hosts") or b"", name=spec.node_name, address=spec.node_ip, gateway=node.gateway),
    }
    if node.read("/etc/machine-id") is None:
        texts["/etc/machine-id"] = uuid.uuid4().hex + "\n"
    private = {
        KUBELET_FILE: dump_yaml(kubelet_configuration(spec)),
        SERVICE_FILE: kubelet_service(spec),
        **apiserver_files(spec, key=node.read(secretsatrest.KEY_FILE) if spec.secrets_key else None),
    }
    files = {path: File(text.encode()) for path, text in texts.items()}
    files |= {path: File(text.encode(), 0o600) for path, text in private.items()}
    # The plugin that gives pods their addresses would make it, for everybody of its group.
    files[f"{ADDRESSES}/lock"] = File(b"", 0o600)
    files[hostusers.PROGRAM] = File(
        hostusers.getsubids(spec, ids=machine.user_ids if machine.user_namespace else hostusers.EVERY_ID).encode(), 0o755
    )
    return files


def hosts(before: bytes, *, name: str, address: str, gateway: str) -> str:
    """The node's /etc/hosts: our names point where they should, whatever else a user wrote there stays."""
    ours = {"localhost": "127.0.0.1", name: address, CONTROL_PLANE_NAME: address, HOST_NAME: gateway}
    kept = [line for line in map(partial(_without, ours), before.decode(errors="replace").splitlines()) if line.strip()]
    return "".join(f"{line}\n" for line in [*(f"{address}\t{name}" for name, address in ours.items()), *kept])


def _without(ours: Mapping[str, str], line: str) -> str:
    """The line without names that are ours; other names for the same address, comments and IPv6 stay."""
    entry, mark, comment = line.partition("#")
    address, *names = entry.split() or [""]
    if ":" in address or not ours.keys() & set(names):
        return line
    others = [name for name in names if name not in ours]
    return "\t".join([address, " ".join(others), *([mark + comment] if mark else [])]) if others else mark + comment


def _seccomp(prepared_store: Path) -> str:
    with as_root():  # only root may look into a containerd store
        return (prepared_store / SECCOMP).read_text()
