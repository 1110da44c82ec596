"""From a profile's configuration and its node to what the components are configured with."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from minikube.artifacts.catalogue import VersionSet, is_pinned
from minikube.artifacts.endpoints import IMAGES
from minikube.artifacts.sources import RELEASE
from minikube.drivers.base import Node
from minikube.drivers.values import Limits, Machine
from minikube.kubernetes import hostusers
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.kubernetes.extraconfig import ExtraOption, parse_feature_gates
from minikube.profiles.clusterconfig import ClusterConfig

if TYPE_CHECKING:
    from minikube.kubernetes.certificates import Identity

NANOSECONDS = 10**9
# Room for some two hundred pods with a few dozen threads each; a fork bomb ends here instead of at the host's own limit.
PIDS = 16384


def limits(config: ClusterConfig, machine: Machine) -> Limits:
    """What the node may use. As many CPUs as the machine has is no limit: a quota would only cost scheduling."""
    cpus = config.CPUs if 0 < config.CPUs < machine.cpus else 0
    memory = config.Memory if 0 < config.Memory < machine.memory_mb else 0
    return Limits(cpus=cpus, memory_mb=memory, pids=PIDS)


def cluster_spec(config: ClusterConfig, node: Node, machine: Machine, versions: VersionSet) -> ClusterSpec:
    kubernetes = config.KubernetesConfig
    allowed = limits(config, machine)
    return ClusterSpec(
        version=kubernetes.KubernetesVersion,
        node_name=node.name,
        node_ip=node.address,
        port=config.APIServerPort,
        service_cidr=kubernetes.ServiceCIDR,
        dns_domain=kubernetes.DNSDomain,
        image_repository=kubernetes.ImageRepository or IMAGES,
        released=config.ComponentSource == RELEASE,
        feature_gates=parse_feature_gates(kubernetes.FeatureGates),
        # The etcd of a version without pins may be another than the one its kubeadm asks for.
        etcd_tag="" if is_pinned(versions.kubernetes) else f"{versions.etcd.lstrip('v')}-0",
        extra_options=tuple(ExtraOption(option.Component, option.Key, option.Value) for option in kubernetes.ExtraOptions or []),
        certificate_names=(*(kubernetes.APIServerNames or []), *(kubernetes.APIServerIPs or [])),
        certificate_seconds=config.CertExpiration // NANOSECONDS,
        hardened=config.Hardened,
        secrets_key=config.SecretsKey,
        cgroup_v1=not machine.cgroup_v2,
        lowers_oom_scores=not machine.user_namespace and "CAP_SYS_RESOURCE" in machine.capabilities,
        memory_bytes=allowed.memory_mb << 20,
        host_memory_bytes=machine.memory_mb << 20,
        cpus=allowed.cpus,
        host_cpus=machine.cpus,
    )


def refuses_host_users(spec: ClusterSpec, machine: Machine) -> bool:
    """Whether pods cannot have user namespaces of their own."""
    return machine.user_namespace and not (machine.pods_can_have_one and hostusers.ids_suffice(spec, machine.user_ids))


def identity(config: ClusterConfig, node: Node) -> Identity:
    from minikube.kubernetes.certificates import Identity  # which brings cryptography: 40 ms

    kubernetes = config.KubernetesConfig
    return Identity(
        profile=config.Name,
        node_name=node.name,
        node_ip=node.address,
        service_cidr=kubernetes.ServiceCIDR,
        dns_domain=kubernetes.DNSDomain,
        apiserver_name=kubernetes.APIServerName,
        apiserver_names=tuple(kubernetes.APIServerNames or ()),
        apiserver_ips=tuple(kubernetes.APIServerIPs or ()),
        lifetime=timedelta(seconds=config.CertExpiration // NANOSECONDS),
    )
