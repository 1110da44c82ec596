"""What may be in the first database content of a cluster: what Kubernetes itself puts there, and nobody else.

The content is read as etcd has it, in protobuf (a magic number, the kind, the object), because that is what clusters get.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minikube.output.reason import Reason

_MAGIC = b"k8s\0"
_MOST_KEYS, _LARGEST = 2000, 64 << 10
_RBAC = "rbac.authorization.k8s.io/v1"
_FLOW = r"flowcontrol\.apiserver\.k8s\.io/v1(beta\d)?"
_SPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_NAME = r"[A-Za-z0-9:.-]{1,200}"

# Which object a key has, by what kind and version it may be.
_KEYS = (
    (rf"clusterroles/(?P<name>{_NAME})", f"{_RBAC} ClusterRole"),
    (rf"clusterrolebindings/(?P<name>{_NAME})", f"{_RBAC} ClusterRoleBinding"),
    (rf"roles/(?P<space>kube-public|kube-system)/(?P<name>{_NAME})", f"{_RBAC} Role"),
    (rf"rolebindings/(?P<space>kube-public|kube-system)/(?P<name>{_NAME})", f"{_RBAC} RoleBinding"),
    (r"priorityclasses/(?P<name>system-(cluster|node)-critical)", "scheduling.k8s.io/v1 PriorityClass"),
    (rf"namespaces/(?P<name>{'|'.join(_SPACES)})", "v1 Namespace"),
    (rf"serviceaccounts/(?P<space>{'|'.join(_SPACES)})/(?P<name>default)", "v1 ServiceAccount"),
    (r"serviceaccounts/(?P<space>kube-system)/(?P<name>[a-z0-9-]{1,100})", "v1 ServiceAccount"),
    (rf"flowschemas/(?P<name>{_NAME})", f"{_FLOW} FlowSchema"),
    (rf"prioritylevelconfigurations/(?P<name>{_NAME})", f"{_FLOW} PriorityLevelConfiguration"),
    (rf"apiregistration\.k8s\.io/apiservices/(?P<name>{_NAME})", "apiregistration.k8s.io/v1 APIService"),
)
_ROLES = re.compile(r"cluster-admin|admin|edit|view|extension-apiserver-authentication-reader|system:.*")
_USERS = ("system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy")
# Groups that many or all belong to, and what each may be given.
_GROUPS = {
    "system:masters": {"cluster-admin"},
    "system:monitoring": {"system:monitoring"},
    "system:authenticated": {"system:basic-user", "system:discovery", "system:public-info-viewer"},
    "system:unauthenticated": {"system:public-info-viewer"},
    "system:serviceaccounts": {"system:service-account-issuer-discovery", "system:cluster-trust-bundle-discovery"},
}
_FOR_MANY = set().union(*(roles for group, roles in _GROUPS.items() if group not in ("system:masters", "system:monitoring")))
_FOR_MANY_RESOURCES = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews", "clustertrustbundles"}
_FOR_MANY_VERBS = {"get", "list", "watch", "create"}


class _Foreign(ValueError):
    """Something that Kubernetes does not put into a new database."""


class _Object(NamedTuple):
    kind: str
    name: str
    space: str
    parts: Mapping[int, Sequence[bytes]]


def check_seed(pairs: Sequence[Mapping[str, str]]) -> None:
    """A reason unless every key and value is one that a new cluster has."""
    try:
        if len(pairs) > _MOST_KEYS:
            raise _Foreign(f"{len(pairs)} keys")
        for pair in pairs:
            key, value = base64.b64decode(pair["key"], validate=True).decode(), base64.b64decode(pair["value"], validate=True)
            try:
                _check(key, value)
            except _Foreign as foreign:
                raise _Foreign(f"{key[:300]!r}: {foreign}") from None
    except (_Foreign, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, binascii.Error) as error:
        raise Reason(
            "RUNTIME_CACHE",
            f"the first content of a cluster is not used: it has something in it that Kubernetes does not make ({error})",
            advice="Run the command again. If it stays, the images of this version are not what they should be.",
        ) from None


def _check(key: str, value: bytes) -> None:
    if len(value) > _LARGEST:
        raise _Foreign(f"{len(value)} bytes")
    place = key.removeprefix("/registry/")
    for form, kind in _KEYS:
        match = re.fullmatch(form, place) if place != key else None
        if match:
            expected = match.groupdict() | {"kind": kind}
            if kind.endswith("APIService"):
                _check_service(value, expected)
            else:
                _check_object(_object(value), expected)
            return
    raise _Foreign("nothing is kept there")


def _check_object(found: _Object, expected: Mapping[str, str]) -> None:
    if not re.fullmatch(expected["kind"], found.kind) or found.name != expected["name"] or found.space != expected.get("space", ""):
        raise _Foreign(f"{found.kind} {found.space}/{found.name}"[:300])
    if "Role" in found.kind:
        if not _ROLES.fullmatch(found.name):
            raise _Foreign("no role of Kubernetes' own")
        if found.kind.endswith("Binding"):
            _check_binding(found)
        elif found.name in _FOR_MANY:
            _check_rules(found)


def _check_binding(found: _Object) -> None:
    (reference,) = found.parts[3]
    kind, role = _texts(reference, 2, 3)
    whole = found.kind.endswith("ClusterRoleBinding")
    if kind != ("ClusterRole" if whole else "Role") or role not in (found.name, *(() if whole else (found.name.removeprefix("system::"),))):
        raise _Foreign(f"it gives {kind} {role}"[:300])
    for subject in found.parts.get(2, ()):
        kind, name, space = _texts(subject, 1, 3, 4)
        known = (
            (kind == "User" and name in _USERS)
            or (kind == "ServiceAccount" and space == "kube-system")
            or (kind == "Group" and found.name in _GROUPS.get(name, ()))
        )
        if not known:
            raise _Foreign(f"it is given to {kind} {space}/{name}"[:300])


def _check_rules(found: _Object) -> None:
    """What everybody may do."""
    for rule in found.parts.get(2, ()):
        parts = _parts(rule)
        verbs, resources = ({text.decode() for text in parts.get(number, ())} for number in (1, 3))
        if not verbs <= _FOR_MANY_VERBS or not resources <= _FOR_MANY_RESOURCES:
            raise _Foreign(f"it allows everybody {sorted(verbs)} of {sorted(resources)}"[:300])


def _check_service(value: bytes, expected: Mapping[str, str]) -> None:
    """A group of the API that the API server has itself; this kind is kept as JSON."""
    found: dict[str, Any] = json.loads(value)
    spec, name = found["spec"], found["metadata"]["name"]
    kind = f"{found['apiVersion']} {found['kind']}"
    if spec.get("service") or name != expected["name"] or kind != expected["kind"] or f"{spec['version']}.{spec.get('group', '')}" != name:
        raise _Foreign(f"{kind} {name} of {spec.get('service')}"[:300])


def _object(value: bytes) -> _Object:
    if not value.startswith(_MAGIC):
        raise _Foreign("it is not kept as Kubernetes keeps it")
    unknown = _parts(value[len(_MAGIC) :])
    ((about,), (content,)) = unknown[1], unknown[2]
    parts = _parts(content)
    (metadata,) = parts[1]
    name, space = _texts(metadata, 1, 3)
    return _Object(" ".join(_texts(about, 1, 2)), name, space, parts)


def _texts(message: bytes, *numbers: int) -> list[str]:
    """Fields that are there at most once each."""
    parts = _parts(message)
    if any(len(parts.get(number, ())) > 1 for number in numbers):
        raise _Foreign("it says one thing twice")
    return [b"".join(parts.get(number, ())).decode() for number in numbers]


def _parts(message: bytes) -> dict[int, list[bytes]]:
    """The fields of a protobuf message that have a length, by number: texts and further messages. Numbers are left out."""
    found: dict[int, list[bytes]] = {}
    for number, content in _fields(message):
        if content is not None:
            found.setdefault(number, []).append(content)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, bytes | None]]:
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind, content, end = tag & 7, None, place
        if kind == 0:
            _, end = _varint(message, place)
        elif kind == 1:
            end = place + 8
        elif kind == 2:
            size, place = _varint(message, place)
            end = place + size
            content = message[place:end]
        elif kind == 5:
            end = place + 4
        else:
            raise _Foreign("it cannot be read")
        if end > len(message):
            raise _Foreign("it ends too early")
        place = end
        yield tag >> 3, content


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise _Foreign("it has a number without end")
