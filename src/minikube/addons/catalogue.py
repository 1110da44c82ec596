"""Every addon people know by name: who looks after it, and where it is documented. What is not `built` cannot be enabled yet."""

from __future__ import annotations

from minikube.output.reason import Reason

_HANDBOOK = "https://minikube.sigs.k8s.io/docs/handbook"
_TUTORIALS = "https://minikube.sigs.k8s.io/docs/tutorials"

# name -> (maintainer, documentation)
ADDONS: dict[str, tuple[str, str]] = {
    "ambassador": ("3rd party (Ambassador)", f"{_TUTORIALS}/ambassador_ingress_controller/"),
    "amd-gpu-device-plugin": ("3rd party (AMD)", f"{_TUTORIALS}/amd/"),
    "auto-pause": ("minikube", ""),
    "cloud-spanner": ("Google", f"{_HANDBOOK}/addons/cloud-spanner/"),
    "csi-hostpath-driver": ("Kubernetes", f"{_TUTORIALS}/volume_snapshots_and_csi/"),
    "dashboard": ("Kubernetes", f"{_HANDBOOK}/dashboard/"),
    "default-storageclass": ("Kubernetes", f"{_HANDBOOK}/persistent_volumes/"),
    "efk": ("3rd party (Elastic)", ""),
    "freshpod": ("Google", ""),
    "gcp-auth": ("Google", f"{_HANDBOOK}/addons/gcp-auth/"),
    "gvisor": ("minikube", f"{_HANDBOOK}/addons/gvisor/"),
    "headlamp": ("3rd party (kinvolk.io)", f"{_HANDBOOK}/addons/headlamp/"),
    "inaccel": ("3rd party (InAccel [info@inaccel.com])", ""),
    "ingress": ("Kubernetes", "https://kubernetes.io/docs/tasks/access-application-cluster/ingress-minikube/"),
    "ingress-dns": ("minikube", f"{_HANDBOOK}/addons/ingress-dns/"),
    "inspektor-gadget": ("3rd party (inspektor-gadget.io)", f"{_HANDBOOK}/addons/inspektor-gadget/"),
    "istio": ("3rd party (Istio)", f"{_HANDBOOK}/addons/istio/"),
    "istio-provisioner": ("3rd party (Istio)", f"{_HANDBOOK}/addons/istio/"),
    "kong": ("3rd party (Kong HQ)", f"{_HANDBOOK}/addons/kong-ingress/"),
    "kubeflow": ("3rd party", ""),
    "kubetail": ("3rd party (kubetail.com)", f"{_HANDBOOK}/addons/kubetail/"),
    "kubevirt": ("3rd party (KubeVirt)", f"{_TUTORIALS}/kubevirt/"),
    "logviewer": ("3rd party (unknown)", ""),
    "metallb": ("3rd party (MetalLB)", ""),
    "metrics-server": ("Kubernetes", ""),
    "nvidia-device-plugin": ("3rd party (NVIDIA)", f"{_TUTORIALS}/nvidia/"),
    "nvidia-driver-installer": ("3rd party (NVIDIA)", f"{_TUTORIALS}/nvidia/"),
    "nvidia-gpu-device-plugin": ("3rd party (NVIDIA)", f"{_TUTORIALS}/nvidia/"),
    "olm": ("3rd party (Operator Framework)", ""),
    "pod-security-policy": ("3rd party (unknown)", ""),
    "portainer": ("3rd party (Portainer.io)", ""),
    "registry": ("minikube", f"{_HANDBOOK}/registry/"),
    "registry-aliases": ("3rd party (unknown)", ""),
    "registry-creds": ("3rd party (UPMC Enterprises)", f"{_HANDBOOK}/registry/"),
    "storage-provisioner": ("minikube", ""),
    "storage-provisioner-rancher": ("3rd party (Rancher)", ""),
    "traefik": ("3rd party (Traefik Labs)", ""),
    "volcano": ("third-party (volcano)", ""),
    "volumesnapshots": ("Kubernetes", f"{_TUTORIALS}/volume_snapshots_and_csi/"),
    "yakd": ("3rd party (marcnuri.com)", ""),
}

BUILT = ("default-storageclass", "storage-provisioner")
"""Part of every cluster."""
WHY_NOT = "only the two addons every cluster gets (default-storageclass, storage-provisioner) exist so far"


def require_known(name: str) -> None:
    if name not in ADDONS:
        raise Reason("MK_ADDON_ENABLE", f"enable failed: {name} is not a valid addon", advice="`minikube addons list` names them all.")


def require_built(name: str) -> None:
    """Refuse an addon that nobody knows, and one that is only known."""
    require_known(name)
    if name not in BUILT:
        raise Reason("MK_UNIMPLEMENTED", f"The addon '{name}' is not built yet: {WHY_NOT}")
