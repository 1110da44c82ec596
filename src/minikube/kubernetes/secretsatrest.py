"""Secrets in etcd, encrypted: the API server's EncryptionConfiguration, its key, and the rewriting of secrets when it changes.

The key is made for one cluster and stays in its node. A cluster that was hardened once keeps it when it no longer is: new secrets are
written as they are, and whatever is still encrypted stays readable.
"""

from __future__ import annotations

import base64
import re
import secrets
from typing import Any

from minikube.kubernetes.api import Api, ApiError
from minikube.kubernetes.clusterspec import APISERVER_DIRECTORY
from minikube.output.reason import Reason

FILE = f"{APISERVER_DIRECTORY}/encryption.yaml"
# A file of its own, which is never written again: a crash cannot leave it half written with secrets that need it.
KEY_FILE = f"{APISERVER_DIRECTORY}/secrets.key"
KEY_BYTES = 32
_KEY = re.compile(r"[A-Za-z0-9+/]{43}=\n?")


def configuration(key: str, *, encrypt: bool) -> dict[str, Any]:
    """The first provider writes, all of them read: what the database had before stays readable."""
    secretbox: dict[str, Any] = {"secretbox": {"keys": [{"name": "key1", "secret": key.strip()}]}}
    plain: dict[str, Any] = {"identity": {}}
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [secretbox, plain] if encrypt else [plain, secretbox]}],
    }


def new_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n"


def key_of(file: bytes) -> str:
    """The key in a node's file. Another one in its place would make every secret of the cluster unreadable."""
    text = file.decode(errors="replace")
    if _KEY.fullmatch(text):
        return text
    raise Reason(
        "GUEST_STATUS",
        f"{KEY_FILE} in the node is damaged: the cluster's secrets cannot be read without the key in it",
        advice=f"Put it back with: minikube cp FILE {KEY_FILE}",
    )


def rewrite(api: Api) -> None:
    """Have the API server write every secret as it would a new one. It leaves those alone that are so already."""
    for secret in api.list("/api/v1/secrets"):
        metadata = secret["metadata"]
        try:
            api.patch(f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}", {})
        except ApiError as error:
            if error.status != 404:  # deleted meanwhile
                raise
