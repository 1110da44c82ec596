"""A database that is older than the cluster's authority: what it says about the old one is put right, and pods are started again.

That is so for a cluster of an earlier version, which shared an authority with others, and for one whose authority was removed or has become
too old. Certificates and kubeconfigs are new by then. Pods have the old authority in their volumes, and programs read it once.
"""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives import hashes

from minikube.drivers.base import Node
from minikube.kubernetes import pki
from minikube.kubernetes.api import Api
from minikube.kubernetes.certificates import Authorities
from minikube.output.reason import Reason

# The API server keeps in it whom it trusts. It adds to it and removes nothing that has not expired: others would believe the old one.
_TRUSTED = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_FOR_JOINING = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
_FOR_PODS = "kube-root-ca.crt"
_DONE_FOR = "minikube.k8s.io/authority"
_GRACE_SECONDS = 10
_LIST_SECONDS, _STOP_SECONDS = 60, 600  # containers may be stopped one after the other


def is_unknown(api: Api, authorities: Authorities) -> bool:
    """Whether the database names an authority that is not this one, and has not been put right.

    Where the API server is told to trust another one for clients, it goes on to name that.
    """
    found = api.find(_TRUSTED)
    if found is None or (found["metadata"].get("annotations") or {}).get(_DONE_FOR) == _fingerprint(authorities):
        return False
    return str((found.get("data") or {}).get("client-ca-file", "")).strip() != _text(authorities.cluster).strip()


def tell(api: Api, node: Node, authorities: Authorities) -> None:
    """May be repeated: that it is done is what `is_unknown` sees, so that is written last."""
    for found in api.list("/api/v1/configmaps", fieldSelector=f"metadata.name={_FOR_PODS}"):
        path = f"/api/v1/namespaces/{found['metadata']['namespace']}/configmaps/{_FOR_PODS}"
        api.patch(path, {"data": {"ca.crt": _text(authorities.cluster)}})
    api.delete(_FOR_JOINING)  # kubeadm makes it again
    _start_pods_again(node)
    now_trusted = {"client-ca-file": _text(authorities.cluster), "requestheader-client-ca-file": _text(authorities.proxy)}
    api.patch(_TRUSTED, {"metadata": {"annotations": {_DONE_FOR: _fingerprint(authorities)}}, "data": now_trusted})


def _start_pods_again(node: Node) -> None:
    """A kubelet that has just started fills every volume before it starts a container. Static pods have no such volumes, and run on."""
    node.stop_services("kubelet")
    try:
        pods = [pod["id"] for pod in _listed(node, "pods", "--state", "Ready") if _is_restartable(pod)]
        containers = [container["id"] for container in _listed(node, "ps") if container.get("podSandboxId") in pods]
        if containers:
            node.run(["crictl", "stop", f"--timeout={_GRACE_SECONDS}", *containers], timeout=_STOP_SECONDS)
        if pods:
            node.run(["crictl", "stopp", *pods], timeout=_STOP_SECONDS)
    finally:
        node.start_services("kubelet")


def _is_restartable(pod: dict[str, Any]) -> bool:
    """Whether it is a pod of the kubelet, which starts it again, and not a static one."""
    annotations = pod.get("annotations")
    return isinstance(annotations, dict) and annotations.get("kubernetes.io/config.source", "file") != "file"


def _listed(node: Node, what: str, *options: str) -> list[dict[str, Any]]:
    result = node.run(["crictl", what, *options, "--output", "json"], timeout=_LIST_SECONDS)
    try:
        answer = json.loads(result.stdout)
        found = list(answer.get("items") or answer.get("containers") or [])
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Reason("GUEST_START", f"crictl does not say which pods there are: {error!s:.300}") from error
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _fingerprint(authorities: Authorities) -> str:
    return authorities.cluster.certificate.fingerprint(hashes.SHA256()).hex()


def _text(authority: pki.Authority) -> str:
    return pki.authority_pem(authority).certificate.decode()
