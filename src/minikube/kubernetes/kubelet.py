"""The kubelet: its configuration, complete before it starts, and its command line."""

from __future__ import annotations

import math
import shlex
from typing import Any

from minikube.kubernetes.clusterspec import CERTIFICATES_DIRECTORY, KUBELET_FILE, KUBERNETES_DIRECTORY, MANIFESTS_DIRECTORY, ClusterSpec

# Upstream's and kubeadm's.
SERVICE_FILE = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
# Kubelet and kube-proxy want -999, try for a fifth of a second where they may not, and go on without it.
UNCHANGED_OOM_SCORE = 0
# For TLS 1.2. All of TLS 1.3's are strong, and none of them can be chosen.
STRONG_CIPHERS = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
)


def kubelet_configuration(spec: ClusterSpec) -> dict[str, Any]:
    """What kubeadm's kubelet-start phase would write, with the settings of a small machine."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True, "cacheTTL": "0s"},
            "x509": {"clientCAFile": f"{CERTIFICATES_DIRECTORY}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",  # there is no systemd in a node
        "clusterDNS": [spec.dns_ip],
        "clusterDomain": spec.dns_domain,
        "containerRuntimeEndpoint": spec.cri_socket,
        # A laptop's disk is often nearly full: pods are not evicted and images not deleted for that.
        "evictionHard": {"imagefs.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%"},
        "enableProfilingHandler": False,
        "eventRecordQPS": 0,
        "failSwapOn": False,
        "hairpinMode": "hairpin-veth",
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "imageGCHighThresholdPercent": 100,
        "kubeAPIBurst": 400,
        "kubeAPIQPS": 200,
        # A kubelet may call its node not ready when the API server has just come back, and would leave it at that for ten seconds.
        # Not more often: it is also how long the API server may take for the node's heartbeats.
        "nodeStatusUpdateFrequency": "1s",
        "nodeStatusReportFrequency": "5m",  # if nothing has changed
        # A quarter of what the node may have: a fork bomb in one pod leaves the others, and the control plane, theirs.
        "podPidsLimit": 4096,
        "readOnlyPort": 0,
        "resolvConf": "/etc/resolv.conf",
        "rotateCertificates": True,
        "runtimeRequestTimeout": "15m",
        "seccompDefault": True,
        "serializeImagePulls": False,
        "staticPodPath": MANIFESTS_DIRECTORY,
        # A static pod whose object the API server refused in its first second would be missing there for the default of a whole minute.
        "syncFrequency": "20s",
        # Ours, signed by the cluster's authority: otherwise the kubelet makes a self-signed RSA one while everything else is starting.
        "tlsCertFile": f"{CERTIFICATES_DIRECTORY}/kubelet.crt",
        "tlsPrivateKeyFile": f"{CERTIFICATES_DIRECTORY}/kubelet.key",
        "tlsCipherSuites": list(STRONG_CIPHERS),
    }
    if spec.hardened:
        configuration |= {"eventRecordQPS": 50, "protectKernelDefaults": True, "tlsMinVersion": "VersionTLS13"}
    if directory := volume_plugins(spec):
        configuration["volumePluginDir"] = directory
    if not spec.lowers_oom_scores:
        configuration["oomScoreAdj"] = UNCHANGED_OOM_SCORE
    if spec.cgroup_v1 and spec.at_least(31):
        configuration["failCgroupV1"] = False
    if spec.component_gates:
        configuration["featureGates"] = spec.component_gates
    reserved = _reserved(spec)
    if reserved:
        configuration["systemReserved"] = reserved
    return configuration


def volume_plugins(spec: ClusterSpec) -> str:
    """Where FlexVolume plugins are, if not at the usual place: before 1.36 kubeadm mounts that for writing, and a node's /usr is not."""
    return "" if spec.at_least(36) else "/opt/libexec/kubernetes/kubelet-plugins/volume/exec"


def kubelet_command(spec: ClusterSpec) -> list[str]:
    """The kubelet's argv in the node, with `--extra-config=kubelet.*` last so that it wins."""
    return [
        "kubelet",
        f"--config={KUBELET_FILE}",
        f"--kubeconfig={KUBERNETES_DIRECTORY}/kubelet.conf",
        f"--hostname-override={spec.node_name}",
        f"--node-ip={spec.node_ip}",
        *(f"--{key}={value}" for key, value in spec.options("kubelet")),
    ]


def kubelet_service(spec: ClusterSpec) -> str:
    """The kubelet's command in the form, and at the place, where tools look for it. No systemd reads it: the supervisor starts services."""
    return f"[Service]\nExecStart=\nExecStart={shlex.join(kubelet_command(spec))}\n"


def _reserved(spec: ClusterSpec) -> dict[str, str]:
    """The part of the host that is not this node's: the kubelet counts the whole machine and does not know the node's limits."""
    reserved = {}
    if 0 < spec.memory_bytes < spec.host_memory_bytes:
        reserved["memory"] = str(spec.host_memory_bytes - spec.memory_bytes)
    if 0 < spec.cpus < spec.host_cpus:
        reserved["cpu"] = f"{math.floor((spec.host_cpus - spec.cpus) * 1000)}m"
    return reserved
