"""kubeadm: its configuration (v1beta4; v1beta3 before 1.31), its patches and the two runs of it that make a cluster."""

from __future__ import annotations

from typing import Any

from minikube.kubernetes import auditing, hardening, secretsatrest
from minikube.kubernetes.clusterspec import (
    APISERVER_DIRECTORY,
    CERTIFICATES_DIRECTORY,
    CLUSTER_NAME,
    CONTROL_PLANE_NAME,
    ETCD_DIRECTORY,
    KUBEADM_FILE,
    PATCHES_DIRECTORY,
    ClusterSpec,
)
from minikube.kubernetes.healthz import WELL
from minikube.kubernetes.kubelet import STRONG_CIPHERS, UNCHANGED_OOM_SCORE, kubelet_configuration, volume_plugins
from minikube.kubernetes.sharedshims import group_of
from minikube.kubernetes.sparselog import PROFILE

ADMISSION_PLUGINS = (
    "NamespaceLifecycle,LimitRanger,ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,"
    "NodeRestriction,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ResourceQuota"
)
CIPHERS = {"tls-cipher-suites": ",".join(STRONG_CIPHERS)}
# Pods that have ended, of which the controller manager would keep 12500.
ENDED_PODS = {"terminated-pod-gc-threshold": "1000"}

# With one service account per controller, the default of 20 requests a second throttles the controller manager's start for seconds.
UNTHROTTLED = {"kube-api-qps": "1000", "kube-api-burst": "2000"}

# Without their own, both make an RSA key while everything waits for them. A directory, so that a renewed pair is seen.
SERVING_DIRECTORY = f"{CERTIFICATES_DIRECTORY}/controllers"
SERVING = {"tls-cert-file": f"{SERVING_DIRECTORY}/serving.crt", "tls-private-key-file": f"{SERVING_DIRECTORY}/serving.key"}
# An etcd that has just started waits for up to a second for a leader to speak up, who in a cluster of one can only be itself.
ALONE = {"election-timeout": "100", "heartbeat-interval": "20"}
# kubeadm has etcd tell each of the API server's eighty watches every five seconds that nothing happened. Whoever needs to know asks.
QUIET = {"watch-progress-notify-interval": "60s"}
# The API server has a connection to etcd for every kind of object. Through a socket that only root may use, none has to prove who it is,
# and etcd serves them with gRPC's own server instead of net/http's. Everybody else still needs a certificate, at port 2379.
ETCD_SOCKET_DIRECTORY = "/var/lib/minikube/etcd-socket"
ETCD_SOCKET = f"unix://{ETCD_SOCKET_DIRECTORY}/client"
ETCD_CALLER = {"etcd-servers": ETCD_SOCKET, "etcd-cafile": "", "etcd-certfile": "", "etcd-keyfile": ""}
# The controller manager is well before it has heard from the API server whom that trusts: it is told by kubeadm, but for these names.
KNOWS_CALLERS = {"authentication-skip-lookup": "true", "requestheader-allowed-names": "front-proxy-client"}

# kubeadm first asks a component whether it has started, every ten seconds for four minutes, and only then whether it is ready. Where it
# has both questions, we ask the latter alone, every second from the beginning. In its first period a young kubelet lets each question wait
# for a random part of it, so that a longer one would delay a second start. The price is half a percent of a core.
EVERY_SECOND = {"initialDelaySeconds": 0, "periodSeconds": 1}
PATIENCE_SECONDS = 240
# kubeadm's patience, in four questions instead of eight.
LIVENESS = {"periodSeconds": 20, "failureThreshold": 4}
# For official builds of Go programs with little memory, where collecting it early costs nothing: a sixth of etcd's.
SMALL = {"GOGC": "50"}
ASKED_TO_START = {"startupProbe": {**EVERY_SECOND, "failureThreshold": PATIENCE_SECONDS}, "livenessProbe": LIVENESS}
# Since which minor version there is a readiness probe to patch, in kubeadm's own manifest or here: the controller manager has none there.
READINESS_SINCE = {"etcd": 31, "kube-apiserver": 0, "kube-scheduler": 32, "kube-controller-manager": 0}
QUESTIONS: dict[str, dict[str, Any]] = {
    "kube-apiserver": {"httpGet": {"path": WELL}},
    "kube-controller-manager": {"httpGet": {"host": "127.0.0.1", "path": "/healthz", "port": 10257, "scheme": "HTTPS"}},
}

ALL_PHASES = (
    "preflight",
    "certs",
    "kubeconfig",
    "etcd",
    "control-plane",
    "kubelet-start",
    "wait-control-plane",
    "upload-config",
    "upload-certs",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
    "show-join-command",
)
FILE_PHASES = frozenset({"certs", "kubeconfig", "etcd", "control-plane"})
API_PHASES = frozenset({"upload-config", "bootstrap-token"})


def kubeadm_documents(spec: ClusterSpec) -> str:
    """The text of kubeadm.yaml: the four documents kubeadm reads."""
    return dump_yaml(
        init_configuration(spec),
        cluster_configuration(spec),
        kubelet_configuration(spec),
        kube_proxy_configuration(spec),
    )


def write_files_command(spec: ClusterSpec, *, kubeadm: str = "kubeadm", config: str = KUBEADM_FILE) -> list[str]:
    """The first run: checks certificates and kubeconfigs, writes the static pods' manifests. Talks to nobody."""
    return _init(spec, FILE_PHASES, kubeadm, config)


def register_cluster_command(spec: ClusterSpec, *, kubeadm: str = "kubeadm", config: str = KUBEADM_FILE) -> list[str]:
    """The second run, once the API answers: configuration and bootstrap rights go into the cluster.

    It does not wait for the node; what kubeadm would put on the node object is in labels.py.
    """
    return _init(spec, API_PHASES, kubeadm, config)


def static_pod_patches(spec: ClusterSpec) -> dict[str, str]:
    """Files for the patches directory: probes that notice a component within a second, and give up no sooner than kubeadm's."""
    patches = {}
    for component, since in READINESS_SINCE.items():
        probes = _asked_from_the_beginning(component) if spec.at_least(since) else ASKED_TO_START
        container: dict[str, Any] = {"name": component, **probes}
        pod: dict[str, Any] = {"containers": [container]}
        if component == "etcd":
            container["securityContext"] = PROFILE
            if spec.released:
                container["env"] = [{"name": name, "value": value} for name, value in SMALL.items()]
        if component in ("etcd", "kube-apiserver"):
            container["volumeMounts"] = [{"name": "etcd-socket", "mountPath": ETCD_SOCKET_DIRECTORY}]
            pod["volumes"] = [{"name": "etcd-socket", "hostPath": {"path": ETCD_SOCKET_DIRECTORY, "type": "DirectoryOrCreate"}}]
        patch = {"metadata": {"annotations": group_of(component)}, "spec": pod}
        patches[f"{component}0+strategic.yaml"] = dump_yaml(patch)
    return patches


def _asked_from_the_beginning(component: str) -> dict[str, Any]:
    not_yet = PATIENCE_SECONDS - LIVENESS["periodSeconds"] * LIVENESS["failureThreshold"]
    return {
        "startupProbe": None,
        "readinessProbe": {**EVERY_SECOND, **QUESTIONS.get(component, {})},
        "livenessProbe": {**LIVENESS, "initialDelaySeconds": not_yet},
    }


def init_configuration(spec: ClusterSpec) -> dict[str, Any]:
    return {
        "apiVersion": _api_version(spec),
        "kind": "InitConfiguration",
        "bootstrapTokens": [
            {
                "groups": ["system:bootstrappers:kubeadm:default-node-token"],
                "ttl": "24h0m0s",
                "usages": ["signing", "authentication"],
            }
        ],
        "localAPIEndpoint": {"advertiseAddress": spec.node_ip, "bindPort": spec.port},
        "nodeRegistration": {
            "criSocket": spec.cri_socket,
            "name": spec.node_name,
            "kubeletExtraArgs": _arguments(spec, {"node-ip": spec.node_ip}),
            "taints": [],
        },
        "patches": {"directory": PATCHES_DIRECTORY},
    }


def cluster_configuration(spec: ClusterSpec) -> dict[str, Any]:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(spec.component_gates.items()))
    gated = {"feature-gates": gates} if gates else {}
    single = {"leader-elect": "false", "profiling": "false"} | UNTHROTTLED | SERVING | CIPHERS | gated
    if spec.hardened:
        single |= hardening.NEWEST_TLS
    # For `kubeadm certs`; the certificates of a start are ours. v1beta3 has no words for either.
    keys = {"certificateValidityPeriod": _duration(spec.certificate_seconds), "encryptionAlgorithm": "ECDSA-P256"}
    pods = {"allocate-node-cidrs": "true", "cluster-cidr": spec.pod_network}
    plugins = {"flex-volume-plugin-dir": directory} if (directory := volume_plugins(spec)) else {}
    quiet = QUIET if spec.at_least(34) else {}  # the option has another name before etcd 3.6
    hardened_etcd = {"tls-min-version": "TLS1.3"} if spec.hardened else {}
    callers = {"listen-client-urls": f"https://127.0.0.1:2379,https://{spec.node_ip}:2379,{ETCD_SOCKET}"}
    etcd: dict[str, Any] = {"dataDir": ETCD_DIRECTORY, "extraArgs": _arguments(spec, ALONE | quiet | callers | hardened_etcd, "etcd")}
    if spec.etcd_tag:
        etcd["imageTag"] = spec.etcd_tag
    return {
        "apiVersion": _api_version(spec),
        "kind": "ClusterConfiguration",
        "apiServer": {
            "certSANs": list(dict.fromkeys(("127.0.0.1", "localhost", spec.node_ip, *spec.certificate_names))),
            "extraArgs": _arguments(
                spec,
                {
                    "enable-admission-plugins": ADMISSION_PLUGINS,
                    "kubelet-certificate-authority": f"{CERTIFICATES_DIRECTORY}/ca.crt",
                    "permit-port-sharing": "true",  # with the door that keeps its early callers waiting
                    "profiling": "false",
                    # Tokens of pods live for the hour that is asked for, not for a year.
                    "service-account-extend-token-expiration": "false",
                }
                | ETCD_CALLER
                | CIPHERS
                | auditing.ARGUMENTS
                | _hardened_arguments(spec)
                | gated,
                "apiserver",
            ),
            "extraVolumes": [_mounted("configuration", APISERVER_DIRECTORY), _mounted("audit", auditing.LOG_DIRECTORY, writable=True)],
        },
        "certificatesDir": CERTIFICATES_DIRECTORY,
        "clusterName": CLUSTER_NAME,
        "controlPlaneEndpoint": f"{CONTROL_PLANE_NAME}:{spec.port}",
        "controllerManager": {"extraArgs": _arguments(spec, pods | KNOWS_CALLERS | single | plugins | ENDED_PODS, "controller-manager")},
        "etcd": {"local": etcd},
        "featureGates": spec.kubeadm_gates,
        "imageRepository": spec.image_repository,
        "kubernetesVersion": spec.version,
        "networking": {"dnsDomain": spec.dns_domain, "podSubnet": spec.pod_network, "serviceSubnet": spec.service_cidr},
        "scheduler": {"extraArgs": _arguments(spec, single, "scheduler"), "extraVolumes": [_mounted("serving", SERVING_DIRECTORY)]},
        **(keys if _lists_arguments(spec) else {}),
    }


def kube_proxy_configuration(spec: ClusterSpec) -> dict[str, Any]:
    """nftables (from 1.29 on), local metrics, and no conntrack settings: those would change the host's kernel."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"},
        "clusterCIDR": spec.pod_network,
        "conntrack": {"maxPerCore": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"},
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
    }
    mode = "nftables" if spec.at_least(29) else "iptables"
    # A new service works after a tenth of a second instead of a whole one.
    configuration |= {"mode": mode, mode: {"minSyncPeriod": "100ms", "syncPeriod": "30s"}}
    if not spec.lowers_oom_scores:
        configuration["oomScoreAdj"] = UNCHANGED_OOM_SCORE
    # Alpha, and asked for by name, before 1.31.
    early = {"NFTablesProxyMode": True} if mode == "nftables" and not spec.at_least(31) else {}
    if gates := early | spec.component_gates:
        configuration["featureGates"] = gates
    for key, value in spec.options("kube-proxy"):
        _set_by_path(configuration, key.split("."), value)
    return configuration


def dump_yaml(*documents: dict[str, Any]) -> str:
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump_all(documents, Dumper=dumper, sort_keys=False, default_flow_style=False, width=10**9)
    return text


def _init(spec: ClusterSpec, phases: frozenset[str], kubeadm: str, config: str) -> list[str]:
    skipped = [phase for phase in ALL_PHASES if phase not in phases]
    options = []
    for key, value in spec.options("kubeadm"):
        if key == "skip-phases":
            skipped += [phase for phase in value.split(",") if phase and phase not in skipped]
        elif key != "pod-network-cidr":
            options.append(f"--{key}={value}")
    return [kubeadm, "init", f"--config={config}", f"--skip-phases={','.join(skipped)}", *options]


def _hardened_arguments(spec: ClusterSpec) -> dict[str, str]:
    """Of the API server."""
    chosen = {"encryption-provider-config": secretsatrest.FILE} if spec.secrets_key else {}
    if spec.hardened:
        chosen |= hardening.arguments(spec)
        chosen["enable-admission-plugins"] = ",".join((ADMISSION_PLUGINS, *hardening.ADMISSION_PLUGINS))
    return chosen


def _mounted(name: str, directory: str, *, writable: bool = False) -> dict[str, Any]:
    """A directory of the node in a static pod. The controller manager has all certificates anyway, the scheduler none."""
    kind = "DirectoryOrCreate" if writable else "Directory"
    return {"name": name, "hostPath": directory, "mountPath": directory, "readOnly": not writable, "pathType": kind}


def _duration(seconds: int) -> str:
    return f"{seconds // 3600}h{seconds % 3600 // 60}m{seconds % 60}s"


def _api_version(spec: ClusterSpec) -> str:
    return f"kubeadm.k8s.io/{'v1beta4' if _lists_arguments(spec) else 'v1beta3'}"


def _lists_arguments(spec: ClusterSpec) -> bool:
    """v1beta4, where arguments are a list; v1beta3 has a mapping."""
    return spec.at_least(31)


def _arguments(spec: ClusterSpec, ours: dict[str, str], component: str = "") -> list[dict[str, str]] | dict[str, str]:
    """Ours, overruled by `--extra-config` for the component."""
    chosen = dict(sorted((ours | dict(spec.options(component))).items()))
    return [{"name": name, "value": value} for name, value in chosen.items()] if _lists_arguments(spec) else chosen


def _set_by_path(target: dict[str, Any], path: list[str], text: str) -> None:
    import yaml

    *parents, last = path
    for parent in parents:
        inner = target.setdefault(parent, {})
        if not isinstance(inner, dict):
            inner = target[parent] = {}
        target = inner
    try:
        target[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        target[last] = text
