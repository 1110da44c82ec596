"""A node in a user namespace cannot give pods one of their own (`hostUsers: false`): they are refused with the way to a node that can.

Otherwise such a pod would wait for ever, with the words of a system call as its only event.
"""

from __future__ import annotations

from typing import Any

from minikube.kubernetes.api import Api, ApiError, object_path

NAME = "host-users.minikube"
MESSAGE = (
    "hostUsers: false does not work in this cluster, because its node is in a user namespace as a whole. For a node without: "
    "minikube stop, then minikube start --user-namespace=false"
)


def objects() -> list[dict[str, Any]]:
    api = "admissionregistration.k8s.io/v1"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return [
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": NAME},
            "spec": {
                "failurePolicy": "Ignore",
                "matchConstraints": {"resourceRules": [pods]},
                "validations": [{"expression": "!has(object.spec.hostUsers) || object.spec.hostUsers", "message": MESSAGE}],
            },
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": NAME},
            "spec": {"policyName": NAME, "validationActions": ["Deny"]},
        },
    ]


def tell(api: Api, *, in_user_namespace: bool) -> None:
    """Have the API server say so, or no longer: a stopped cluster may be started as the other kind."""
    try:
        if in_user_namespace:
            api.create_all(objects())
        else:
            for obj in reversed(objects()):
                api.delete(object_path(obj))
    except ApiError as error:
        if error.status != 404:  # Kubernetes before 1.30 has no such policies
            raise
