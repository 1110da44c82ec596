"""The API server's audit log: which requests it records, where, and how large it may become.

Every cluster has one. It records writes and commands that are run in pods. Heartbeats, events and reads are left out, so that an idle
cluster writes nothing. A hardened cluster also records reads of secrets and the content of changes to roles.
"""

from __future__ import annotations

from typing import Any

from minikube.kubernetes.clusterspec import APISERVER_DIRECTORY, ClusterSpec

POLICY_FILE = f"{APISERVER_DIRECTORY}/audit-policy.yaml"
LOG_DIRECTORY = "/var/log/kubernetes"
LOG_FILE = f"{LOG_DIRECTORY}/audit.log"
# The CIS benchmark's least values. Older files are compressed to a tenth: at most about 200 MB in all.
ARGUMENTS = {
    "audit-policy-file": POLICY_FILE,
    "audit-log-path": LOG_FILE,
    "audit-log-maxage": "30",
    "audit-log-maxbackup": "10",
    "audit-log-maxsize": "100",
    "audit-log-compress": "true",
}
# Commands in a pod and connections through the API server. Clients that use web sockets ask with GET.
_ENTERING = ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/ephemeralcontainers", "services/proxy", "nodes/proxy"]


def policy(spec: ClusterSpec) -> dict[str, Any]:
    """Rules in the order in which the API server tries them: the first that fits decides."""
    rules: list[dict[str, Any]] = [
        _rule("Metadata", {"": _ENTERING}),
        _rule("None", {"": ["events"], "events.k8s.io": ["events"], "coordination.k8s.io": ["leases"]}),
        # What kubelets report of themselves and their pods.
        _rule("None", {"": ["nodes/status", "pods/status"]}, userGroups=["system:nodes"]),
    ]
    if spec.hardened:
        rules += [
            _rule("Metadata", {"": ["secrets", "serviceaccounts/token"], "authentication.k8s.io": ["tokenreviews"]}),
            _rule("Request", {"rbac.authorization.k8s.io": []}, verbs=["create", "update", "patch", "delete", "deletecollection"]),
        ]
    else:
        # A kubelet has each of its callers looked up.
        rules.append(_rule("None", {"authentication.k8s.io": ["tokenreviews"], "authorization.k8s.io": ["subjectaccessreviews"]}))
    rules += [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata"}]
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "omitManagedFields": True, "rules": rules}


def _rule(level: str, resources: dict[str, list[str]], **who: list[str]) -> dict[str, Any]:
    """For kinds by API group; none named are all of a group."""
    kinds = [{"group": group, **({"resources": names} if names else {})} for group, names in resources.items()]
    return {"level": level, **who, "resources": kinds}
