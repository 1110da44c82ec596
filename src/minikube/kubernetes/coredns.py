"""CoreDNS in its final form from the first moment: kubeadm's objects, with the settings of a one-node cluster.

Different from kubeadm's: one replica, ready within a second, scheduled before the node is ready, and `host.minikube.internal` known.
"""

from __future__ import annotations

from typing import Any

from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME, ClusterSpec

HOST_ALIAS = "host.minikube.internal"
LABELS = {"k8s-app": "kube-dns"}


def coredns_objects(spec: ClusterSpec, *, image: str, host_ip: str, log: bool = True) -> list[dict[str, Any]]:
    """Everything CoreDNS needs, in the order it should be created."""
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata("coredns")},
        _cluster_role(),
        _cluster_role_binding(),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata("coredns"),
            "data": {"Corefile": corefile(spec.dns_domain, host_ip=host_ip, node_ip=spec.node_ip, log=log)},
        },
        _service(spec.dns_ip),
        _deployment(image),
    ]


def corefile(domain: str, *, host_ip: str, node_ip: str, log: bool) -> str:
    """kubeadm's Corefile with what upstream adds to it, the query log and the host's name; and the control plane's name, too."""
    return f""".:53 {{
{"    log" + chr(10) if log else ""}    errors
    health {{
       lameduck 500ms
    }}
    ready
    kubernetes {domain} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :9153
    hosts {{
       {host_ip} {HOST_ALIAS}
       {node_ip} {CONTROL_PLANE_NAME}
       fallthrough
    }}
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {domain}
       disable denial {domain}
    }}
    loop
    reload
    loadbalance
}}
"""


def _metadata(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": "kube-system", **more}


def _cluster_role() -> dict[str, Any]:
    watch = ["list", "watch"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:coredns"},
        "rules": [
            {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": watch},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": watch},
        ],
    }


def _cluster_role_binding() -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "system:coredns"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
        "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}],
    }


def _service(cluster_ip: str) -> dict[str, Any]:
    def port(name: str, number: int, protocol: str) -> dict[str, Any]:
        return {"name": name, "port": number, "protocol": protocol, "targetPort": number}

    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(
            "kube-dns",
            labels={**LABELS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
            annotations={"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
        ),
        "spec": {
            "clusterIP": cluster_ip,
            "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP"), port("metrics", 9153, "TCP")],
            "selector": LABELS,
        },
    }


def _deployment(image: str) -> dict[str, Any]:
    affinity = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "labelSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]},
                        "topologyKey": "kubernetes.io/hostname",
                    },
                }
            ]
        }
    }
    pod = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "affinity": affinity,
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"},
        ],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [_container(image)],
        "dnsPolicy": "Default",
        "volumes": [{"name": "config-volume", "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata("coredns", labels=LABELS),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        },
    }


def _container(image: str) -> dict[str, Any]:
    def port(number: int, name: str, protocol: str = "TCP") -> dict[str, Any]:
        return {"containerPort": number, "name": name, "protocol": protocol}

    return {
        "name": "coredns",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
        "ports": [
            port(53, "dns", "UDP"),
            port(53, "dns-tcp"),
            port(9153, "metrics"),
            port(8080, "liveness-probe"),
            port(8181, "readiness-probe"),
        ],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"},
            "periodSeconds": 1,
            # As patient as kubeadm's three tries ten seconds apart: a busy second must not take DNS away.
            "failureThreshold": 30,
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
