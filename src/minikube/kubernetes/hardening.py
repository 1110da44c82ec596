"""`start --hardened`: what a cluster gets beyond the defaults, where security costs comfort.

Here are the API server's configuration files and arguments; auditing.py has the audit log, secretsatrest.py the encryption of secrets.
"""

from __future__ import annotations

from typing import Any

from minikube.kubernetes.api import Api, object_path
from minikube.kubernetes.clusterspec import APISERVER_DIRECTORY, ClusterSpec
from minikube.kubernetes.labels import rbac_binding
from minikube.output.reason import Reason

ADMISSION_FILE = f"{APISERVER_DIRECTORY}/admission.yaml"
AUTHENTICATION_FILE = f"{APISERVER_DIRECTORY}/authentication.yaml"
ADMISSION_PLUGINS = ("DenyServiceExternalIPs", "EventRateLimit")
# Kubelet, load balancers and `minikube status` ask these without a certificate; everything else takes one.
HEALTH_PATHS = ("/livez", "/readyz", "/healthz")
NEWEST_TLS = {"tls-min-version": "VersionTLS13"}
# A namespace whose pods fail in a loop must not fill the database with events.
EVENT_LIMITS = [
    {"type": "Server", "qps": 500, "burst": 1000},
    {"type": "Namespace", "qps": 50, "burst": 200, "cacheSize": 1000},
]
SINCE_MINOR = 32
"""Before, the API server lets anonymous requests in everywhere or nowhere, and without any a kubelet cannot ask for its health."""
_SYSTEM = "kube-system"


def check(minor: int, apiserver_options: list[str]) -> None:
    """MK_USAGE for a hardened cluster that cannot be."""
    if minor < SINCE_MINOR:
        raise Reason(
            "MK_USAGE",
            f"--hardened needs Kubernetes v1.{SINCE_MINOR} or newer: "
            "older API servers cannot refuse anonymous requests and still be probed",
            advice=f"Choose a newer one: --kubernetes-version=v1.{SINCE_MINOR}, or start with --hardened=false",
        )
    if clashing := sorted(key for key in apiserver_options if key.startswith("oidc-")):
        raise Reason(
            "MK_USAGE",
            f"--hardened cannot be combined with --extra-config=apiserver.{clashing[0]}: "
            "the API server reads either such options or a file",
            advice="Describe the issuer in an AuthenticationConfiguration in the node: --extra-config=apiserver.authentication-config=FILE",
        )


def arguments(spec: ClusterSpec) -> dict[str, str]:
    """Of the API server."""
    chosen = {"admission-control-config-file": ADMISSION_FILE} | NEWEST_TLS
    if "anonymous-auth" not in dict(spec.options("apiserver")):  # the API server takes that or the file
        chosen["authentication-config"] = AUTHENTICATION_FILE
    return chosen


def admission() -> dict[str, Any]:
    """Pods outside kube-system keep to the baseline of the Pod Security Standards, unless their namespace says otherwise."""
    baseline = dict.fromkeys(("enforce", "audit", "warn"), "baseline")
    versions = {f"{mode}-version": "latest" for mode in ("enforce", "audit", "warn")}
    plugins: dict[str, dict[str, Any]] = {
        "PodSecurity": {
            "apiVersion": "pod-security.admission.config.k8s.io/v1",
            "kind": "PodSecurityConfiguration",
            "defaults": baseline | versions,
            "exemptions": {"namespaces": [_SYSTEM]},
        },
        "EventRateLimit": {"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration", "limits": EVENT_LIMITS},
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": name, "configuration": configuration} for name, configuration in plugins.items()],
    }


def authentication(spec: ClusterSpec) -> dict[str, Any]:
    """Anonymous requests are for health checks only."""
    return {
        "apiVersion": f"apiserver.config.k8s.io/{'v1' if spec.at_least(34) else 'v1beta1'}",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": True, "conditions": [{"path": path} for path in HEALTH_PATHS]},
    }


def network_policies() -> list[dict[str, Any]]:
    """kube-system: nothing goes in or out but what DNS and metrics need. Pods of the node's own network are not concerned."""
    api = [_port("TCP", 443), _port("TCP", 8443)]
    dns = [_port("UDP", 53), _port("TCP", 53)]
    return [
        _network_policy("default-deny", {}, {"policyTypes": ["Ingress", "Egress"]}),
        _network_policy(
            "allow-dns",
            {"k8s-app": "kube-dns"},
            {
                "policyTypes": ["Ingress", "Egress"],
                # Names; metrics; health and readiness, which kubelets ask for.
                "ingress": [{"ports": [*dns, _port("TCP", 9153), _port("TCP", 8080), _port("TCP", 8181)]}],
                "egress": [{"ports": [*dns, *api]}],
            },
        ),
        _network_policy(
            "allow-metrics",
            {"k8s-app": "metrics-server"},
            {
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"ports": [_port("TCP", 10250), _port("TCP", 4443)]}],
                "egress": [{"ports": [*dns, *api, _port("TCP", 10250)]}],
            },
        ),
    ]


def objects(spec: ClusterSpec) -> list[dict[str, Any]]:
    """What a cluster gets: kube-system's default account has every right by default, as upstream; here it has none, and a firewall."""
    return network_policies() if spec.hardened else [rbac_binding()]


def remove_others(api: Api, spec: ClusterSpec) -> None:
    """What a cluster of the other kind has: --hardened may be switched on and off."""
    for obj in [rbac_binding()] if spec.hardened else network_policies():
        api.delete(object_path(obj))


def _network_policy(name: str, labels: dict[str, str], rules: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": _SYSTEM},
        "spec": {"podSelector": {"matchLabels": labels} if labels else {}, **rules},
    }


def _port(protocol: str, number: int) -> dict[str, Any]:
    return {"protocol": protocol, "port": number}
