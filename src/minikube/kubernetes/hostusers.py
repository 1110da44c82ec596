"""Pods with user namespaces of their own (`hostUsers: false`): the ids they get, and their refusal where they cannot work.

A node that is in a user namespace can give pods one only on newer kernels. Elsewhere such a pod would wait for ever, with the words of a
system call as its only event: it is refused with the way to a node that can.
"""

from __future__ import annotations

from typing import Any

from minikube.kubernetes.api import Api, ApiError, object_path
from minikube.kubernetes.clusterspec import ClusterSpec

# The kubelet asks the program `getsubids` for the ids of its user; it has no setting for them.
USER, PROGRAM_DIRECTORY = "kubelet", "/etc/minikube/bin"
PROGRAM = f"{PROGRAM_DIRECTORY}/getsubids"
IDS_PER_POD, USUAL_PODS = 1 << 16, 110
EVERY_ID = 1 << 32

NAME = "host-users.minikube"
MESSAGE = (
    "hostUsers: false does not work in this cluster: its node is in a user namespace as a whole, and pods can have ones in there only with "
    "Linux 6.15 or newer and max-pods below 256 (128 where more than 8 clusters run, none where more than 20 do). For a node without: "
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


def ids_suffice(spec: ClusterSpec, ids: int) -> bool:
    """Whether a node's own user namespace, with that many ids, has enough for as many pods as there may be."""
    chosen = [value for key, value in spec.options("kubelet") if key == "max-pods"]
    pods = int(chosen[-1]) if chosen and chosen[-1].isdecimal() else USUAL_PODS
    return (pods + 1) * IDS_PER_POD <= ids


def getsubids(spec: ClusterSpec, *, ids: int) -> str:
    """The program that tells the kubelet which ids are its pods': all but the node's own. It starts only if there are enough."""
    total = ids if ids_suffice(spec, ids) else EVERY_ID
    return f"#!/bin/sh\necho '0: {USER} {IDS_PER_POD} {total - IDS_PER_POD}'\n"


def tell(api: Api, *, refuse: bool) -> None:
    """Have the API server say so, or no longer: a stopped cluster may be started as the other kind, or on another kernel."""
    try:
        if refuse:
            api.create_all(objects())
        else:
            for obj in reversed(objects()):
                api.delete(object_path(obj))
    except ApiError as error:
        if error.status != 404:  # Kubernetes before 1.30 has no such policies
            raise
