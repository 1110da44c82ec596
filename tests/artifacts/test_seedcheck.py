"""What may be in every new cluster's database, and what a stranger would like to be there."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from minikube.artifacts.seedcheck import check_seed
from minikube.output.reason import Reason

RBAC = "rbac.authorization.k8s.io/v1"


def field(number: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def stored(version: str, kind: str, name: str, *parts: bytes, space: str = "") -> bytes:
    """As the API server writes it."""
    metadata = field(1, name) + field(2, "") + (field(3, space)) + field(5, "0" * 36) + varint(7 << 3) + varint(300)
    return b"k8s\0" + field(1, field(1, version) + field(2, kind)) + field(2, field(1, metadata) + b"".join(parts)) + field(3, "")


def binding(name: str, role: str, *subjects: tuple[str, str, str], kind: str = "ClusterRole", space: str = "") -> bytes:
    given = [
        field(2, field(1, what) + field(2, "rbac.authorization.k8s.io") + field(3, who) + field(4, where)) for what, who, where in subjects
    ]
    reference = field(3, field(1, "rbac.authorization.k8s.io") + field(2, kind) + field(3, role))
    return stored(RBAC, f"{kind}Binding", name, *given, reference, space=space)


def role(name: str, verbs: list[str], resources: list[str]) -> bytes:
    rule = b"".join(field(1, verb) for verb in verbs) + b"".join(field(3, resource) for resource in resources)
    return stored(RBAC, "ClusterRole", name, field(2, rule))


def service(name: str, **changes: Any) -> bytes:
    version, _, group = name.partition(".")
    spec = {"group": group, "version": version} | changes
    return json.dumps({"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": name}, "spec": spec}).encode()


def pair(key: str, value: bytes) -> dict[str, str]:
    return {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(value).decode()}


ANYBODY = (("Group", "system:authenticated", ""), ("Group", "system:unauthenticated", ""))
GOOD = [
    ("clusterrolebindings/cluster-admin", binding("cluster-admin", "cluster-admin", ("Group", "system:masters", ""))),
    ("clusterrolebindings/system:public-info-viewer", binding("system:public-info-viewer", "system:public-info-viewer", *ANYBODY)),
    ("clusterrolebindings/system:node", binding("system:node", "system:node")),
    ("clusterrolebindings/system:kube-dns", binding("system:kube-dns", "system:kube-dns", ("ServiceAccount", "kube-dns", "kube-system"))),
    (
        "rolebindings/kube-system/system::extension-apiserver-authentication-reader",
        binding(
            "system::extension-apiserver-authentication-reader",
            "extension-apiserver-authentication-reader",
            ("User", "system:kube-scheduler", ""),
            kind="Role",
            space="kube-system",
        ),
    ),
    ("clusterroles/cluster-admin", role("cluster-admin", ["*"], ["*"])),
    ("clusterroles/system:basic-user", role("system:basic-user", ["create"], ["selfsubjectreviews"])),
    ("namespaces/kube-system", stored("v1", "Namespace", "kube-system")),
    ("serviceaccounts/kube-system/job-controller", stored("v1", "ServiceAccount", "job-controller", space="kube-system")),
    ("apiregistration.k8s.io/apiservices/v1.apps", service("v1.apps")),
    ("apiregistration.k8s.io/apiservices/v1.", service("v1.")),
]
ANONYMOUS = ("User", "system:anonymous", "")
HOSTILE = {
    "anonymous administrators": ("clusterrolebindings/handy", binding("handy", "cluster-admin", ANONYMOUS)),
    "under a name that looks right": ("clusterrolebindings/system:handy", binding("system:handy", "cluster-admin", ANONYMOUS)),
    "one more administrator": ("clusterrolebindings/cluster-admin", binding("cluster-admin", "cluster-admin", ("User", "eve", ""))),
    "everybody administrates": ("clusterrolebindings/cluster-admin", binding("cluster-admin", "cluster-admin", *ANYBODY)),
    "another role": ("clusterrolebindings/system:public-info-viewer", binding("system:public-info-viewer", "cluster-admin", *ANYBODY)),
    "strangers": ("clusterrolebindings/system:basic-user", binding("system:basic-user", "system:basic-user", *ANYBODY)),
    "pods of users": ("clusterrolebindings/system:node", binding("system:node", "system:node", ("ServiceAccount", "default", "default"))),
    "a role for everybody that can do more": ("clusterroles/system:basic-user", role("system:basic-user", ["*"], ["secrets"])),
    "a role of somebody's own": ("clusterroles/mine", role("mine", ["get"], ["secrets"])),
    "another name in the key": (
        "clusterrolebindings/system:node",
        binding("cluster-admin", "cluster-admin", ("Group", "system:masters", "")),
    ),
    "another kind": ("clusterroles/cluster-admin", binding("cluster-admin", "cluster-admin", ("Group", "system:masters", ""))),
    "as JSON": (
        "clusterrolebindings/cluster-admin",
        b'{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"cluster-admin"}}',
    ),
    "a role in a namespace of users": ("roles/default/system:x", stored(RBAC, "Role", "system:x", space="default")),
    "a secret": ("secrets/kube-system/token", stored("v1", "Secret", "token", space="kube-system")),
    "a pod": ("pods/kube-system/x", stored("v1", "Pod", "x", space="kube-system")),
    "a namespace": ("namespaces/mine", stored("v1", "Namespace", "mine")),
    "an account": ("serviceaccounts/default/robot", stored("v1", "ServiceAccount", "robot", space="default")),
    "an API elsewhere": ("apiregistration.k8s.io/apiservices/v1.apps", service("v1.apps", service={"namespace": "default", "name": "x"})),
    "an API under another name": ("apiregistration.k8s.io/apiservices/v1.apps", service("v1.batch")),
    "too much": ("namespaces/default", stored("v1", "Namespace", "default", bytes(70_000))),
    "a reference twice": (
        "clusterrolebindings/system:node",
        stored(
            RBAC,
            "ClusterRoleBinding",
            "system:node",
            *(field(3, field(2, "ClusterRole") + field(3, role)) for role in ("system:node", "x")),
        ),
    ),
    "out of the tree": ("../../etc/passwd", b""),
    "nothing": ("clusterroles/cluster-admin", b""),
}


def test_what_kubernetes_makes() -> None:
    check_seed([pair(f"/registry/{key}", value) for key, value in GOOD])


@pytest.mark.parametrize("what", HOSTILE)
def test_what_a_stranger_would_add(what: str) -> None:
    key, value = HOSTILE[what]
    with pytest.raises(Reason, match="something in it that Kubernetes does not make"):
        check_seed([pair(f"/registry/{key}", value)])


@pytest.mark.parametrize("pairs", [[{}], [{"key": "?", "value": ""}], [{"key": "//8=", "value": ""}], [pair("/x", b"")] * 3000, [7]])
def test_what_is_no_content_at_all(pairs: Any) -> None:
    with pytest.raises(Reason):
        check_seed(pairs)


def test_values_at_random_end_in_reasons() -> None:
    chance = random.Random(3)
    refused = 0
    for _ in range(4000):
        key, value = chance.choice(GOOD)
        data = bytearray(value)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            check_seed([pair(f"/registry/{key}", bytes(data[: chance.randrange(1, len(data) + 1)] if chance.random() < 0.2 else data))])
        except Reason:
            refused += 1
    assert refused > 1000
