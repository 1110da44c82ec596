"""What a cluster is to be, in one small struct: everything the configuration of its components is made from."""

from __future__ import annotations

import ipaddress

import msgspec

from minikube.artifacts.catalogue import parts
from minikube.kubernetes.extraconfig import POD_NETWORK_CIDR, ExtraOption, options_of
from minikube.output.reason import Reason

CLUSTER_NAME = "mk"
CONTROL_PLANE_NAME = "control-plane.minikube.internal"
CERTIFICATES_DIRECTORY = "/var/lib/minikube/certs"
ETCD_DIRECTORY = "/var/lib/minikube/etcd"
SEED_DIRECTORY = "/var/lib/minikube/seed"
PATCHES_DIRECTORY = "/var/lib/minikube/patches"
KUBERNETES_DIRECTORY = "/etc/kubernetes"
MANIFESTS_DIRECTORY = f"{KUBERNETES_DIRECTORY}/manifests"
APISERVER_DIRECTORY = f"{KUBERNETES_DIRECTORY}/apiserver"  # files that the API server is configured with
KUBEADM_FILE = "/var/tmp/minikube/kubeadm.yaml"  # noqa: S108 - a path in the node, upstream's
KUBELET_FILE = "/var/lib/kubelet/config.yaml"
# Gates that belong to kubeadm itself; all others go to the components.
KUBEADM_GATES = frozenset(
    {
        "ControlPlaneKubeletLocalMode",
        "EtcdLearnerMode",
        "NodeLocalCRISocket",
        "PublicKeysECDSA",
        "RootlessControlPlane",
        "WaitForAllControlPlaneComponents",
    }
)
CONTAINERD_SOCKET = "unix:///run/containerd/containerd.sock"


class ClusterSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster and its first node. Sizes of 0 mean: no limit."""

    version: str
    node_name: str
    node_ip: str
    port: int = 8443
    service_cidr: str = "10.96.0.0/12"
    pod_cidr: str = "10.244.0.0/16"
    dns_domain: str = "cluster.local"
    image_repository: str = "registry.k8s.io"
    released: bool = False
    """Whether components are official builds, which know nothing of memory.go."""
    etcd_tag: str = ""
    """Only where it is not the one kubeadm asks for itself."""
    feature_gates: dict[str, bool] = {}
    extra_options: tuple[ExtraOption, ...] = ()
    certificate_names: tuple[str, ...] = ()
    certificate_seconds: int = 26280 * 3600
    hardened: bool = False
    secrets_key: bool = False
    """Whether the database may hold encrypted secrets: a cluster that was hardened once keeps its key."""
    cgroup_v1: bool = False
    lowers_oom_scores: bool = True
    cri_socket: str = CONTAINERD_SOCKET
    memory_bytes: int = 0
    host_memory_bytes: int = 0
    cpus: float = 0
    host_cpus: int = 0

    def at_least(self, minor: int) -> bool:
        """Whether Kubernetes is 1.`minor` or newer."""
        return parts(self.version)[:2] >= (1, minor)

    @property
    def dns_ip(self) -> str:
        """Where every cluster's DNS is: the tenth address of the service range."""
        return service_address(self.service_cidr, 10)

    @property
    def api_service_ip(self) -> str:
        return service_address(self.service_cidr, 1)

    @property
    def pod_network(self) -> str:
        """The pods' range, which `--extra-config=kubeadm.pod-network-cidr` overrides."""
        chosen = [value for key, value in self.options("kubeadm") if key == POD_NETWORK_CIDR]
        return chosen[-1] if chosen else self.pod_cidr

    @property
    def kubeadm_gates(self) -> dict[str, bool]:
        return {name: on for name, on in self.feature_gates.items() if name in KUBEADM_GATES}

    @property
    def component_gates(self) -> dict[str, bool]:
        return {name: on for name, on in self.feature_gates.items() if name not in KUBEADM_GATES}

    def options(self, component: str) -> list[tuple[str, str]]:
        """What `--extra-config` says for one component."""
        return options_of(self.extra_options, component)


def service_address(service_cidr: str, index: int) -> str:
    """The address at a place in the service range; MK_USAGE for a range that is none, or too small to hold a cluster's own services."""
    try:
        return str(ipaddress.ip_network(service_cidr)[index])
    except (ValueError, IndexError) as error:
        raise Reason(
            "MK_USAGE",
            f'--service-cluster-ip-range: "{service_cidr}" cannot be used: {error}',
            advice="Give a range of at least 16 addresses, for example 10.96.0.0/12",
        ) from None
