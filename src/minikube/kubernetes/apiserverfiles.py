"""The files in the node that the API server is configured with, all readable by root only."""

from __future__ import annotations

from typing import Any

from minikube.kubernetes import auditing, hardening, secretsatrest
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.kubernetes.kubeadm import dump_yaml


def apiserver_files(spec: ClusterSpec, *, key: bytes | None) -> dict[str, str]:
    """Path to content. `key` is what the node has as the key of its secrets, if anything."""
    documents: dict[str, dict[str, Any]] = {auditing.POLICY_FILE: auditing.policy(spec)}
    files = {}
    if spec.hardened:
        documents[hardening.ADMISSION_FILE] = hardening.admission()
        documents[hardening.AUTHENTICATION_FILE] = hardening.authentication(spec)
    if spec.secrets_key:
        files[secretsatrest.KEY_FILE] = secretsatrest.key_of(key) if key else secretsatrest.new_key()
        documents[secretsatrest.FILE] = secretsatrest.configuration(files[secretsatrest.KEY_FILE], encrypt=spec.hardened)
    return files | {path: dump_yaml(document) for path, document in documents.items()}
