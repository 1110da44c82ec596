"""The certificates and kubeconfigs of a node's control plane: checked and made on this host, kept in the node."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.host.files import cannot_write
from minikube.kubernetes import pki
from minikube.kubernetes.certificates import Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.clusterspec import CERTIFICATES_DIRECTORY, CLUSTER_NAME, KUBERNETES_DIRECTORY, ClusterSpec
from minikube.kubernetes.componentconf import ADMINS, ADMINS_BEFORE_129, component_confs, ensure_component_confs
from minikube.node import renewal
from minikube.profiles.paths import profile_directory

_SCRATCH = ".node-certificates-"


def ensure(node: Node, spec: ClusterSpec, identity: Identity) -> list[str]:
    """Make what is missing, expiring or no longer true, and give it to the node; what fits is left alone. Says which files are new."""
    authorities = ensure_authorities()
    confs = [f"{KUBERNETES_DIRECTORY}/{conf.file}" for conf in component_confs(spec.node_name)]
    before = node.get(CERTIFICATES_DIRECTORY, *confs)
    profile = profile_directory(identity.profile)
    try:
        profile.mkdir(parents=True, exist_ok=True, mode=0o700)
        for stale in profile.glob(f"{_SCRATCH}*"):  # of a command that was killed
            shutil.rmtree(stale, ignore_errors=True)
        # Not in /tmp: keys belong where the profile's other keys are.
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=profile) as name:
            copy = Path(name)
            _write(copy, before)
            ensure_cluster_certificates(identity, node_directory=_below(copy, CERTIFICATES_DIRECTORY), authorities=authorities)
            ensure_component_confs(
                _below(copy, KUBERNETES_DIRECTORY),
                authority=authorities.cluster,
                node_name=spec.node_name,
                node_ip=spec.node_ip,
                port=spec.port,
                cluster_name=CLUSTER_NAME,
                lifetime=identity.lifetime,
                admins=ADMINS if spec.at_least(29) else ADMINS_BEFORE_129,
            )
            after = _read(copy)
    except OSError as error:
        raise cannot_write(profile, error) from error
    fresh = {path: file for path, file in after.items() if before.get(path) != file}
    node.put(fresh)
    return list(fresh)


def authority() -> bytes:
    """The certificate of the authority that signs for every cluster of this home."""
    return pki.authority_pem(ensure_authorities().cluster).certificate


def renew_running(node: Node, spec: ClusterSpec, identity: Identity) -> None:
    """The same for a node that runs: whoever does not read its file anew by itself is ended, and the kubelet starts it again."""
    fresh = ensure(node, spec, identity)
    for file, program in renewal.CONFS.items():
        if program and f"{KUBERNETES_DIRECTORY}/{file}" in fresh:
            node.run(["pkill", "-x", program])


def _below(copy: Path, path: str) -> Path:
    return copy / path.lstrip("/")


def _write(copy: Path, files: dict[str, File]) -> None:
    for path, file in files.items():
        target = _below(copy, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(file.mode)


def _read(copy: Path) -> dict[str, File]:
    return {
        f"/{path.relative_to(copy)}": File(path.read_bytes(), path.stat().st_mode & 0o7777) for path in copy.rglob("*") if path.is_file()
    }
