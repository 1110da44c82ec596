"""The certificates and kubeconfigs of a node's control plane: checked and made on this host, kept in the node."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.host.files import cannot_write
from minikube.host.untrustedtree import Tree
from minikube.kubernetes import pki
from minikube.kubernetes.certificates import NODE_FILES, Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.clusterspec import CERTIFICATES_DIRECTORY, CLUSTER_NAME, KUBERNETES_DIRECTORY, ClusterSpec
from minikube.kubernetes.componentconf import ADMINS, ADMINS_BEFORE_129, component_confs, ensure_component_confs
from minikube.node import renewal
from minikube.profiles.paths import profile_directory

_SCRATCH = ".node-certificates-"


def ensure(node: Node, spec: ClusterSpec, identity: Identity, warn: Callable[[str], None]) -> list[str]:
    """Make what is missing, expiring or no longer true, and give it to the node; what fits is left alone. Says which files are new."""
    authorities = ensure_authorities(identity.profile)
    confs = component_confs(spec.node_name, control_plane=identity.control_plane)
    # By their names: what else is in these directories is the node's own affair.
    files = [f"{CERTIFICATES_DIRECTORY}/{name}" for name in NODE_FILES] + [f"{KUBERNETES_DIRECTORY}/{conf.file}" for conf in confs]
    before = {path: file for path, file in node.get_own(*files).items() if path in files}
    profile = profile_directory(identity.profile)
    try:
        for stale in profile.glob(f"{_SCRATCH}*"):  # of a command that was killed
            shutil.rmtree(stale, ignore_errors=True)
        # Not in /tmp: keys belong where the profile's other keys are.
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=profile) as name:
            copy = Path(name)
            _write(copy, before)
            if pki.expiring([profile], within=timedelta()):  # the copy is in there, too
                warn("kubeadm certificates have expired. Generating new ones...")
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
                control_plane=identity.control_plane,
            )
            after = _read(copy)
    except OSError as error:
        raise cannot_write(profile, error) from error
    fresh = {path: file for path, file in after.items() if before.get(path) != file}
    node.put_own(fresh)
    return list(fresh)


def authority(profile: str) -> bytes:
    """The certificate of the authority that signs for this cluster, made if need be."""
    return pki.authority_pem(ensure_authorities(profile).cluster).certificate


def renew_running(node: Node, spec: ClusterSpec, identity: Identity, warn: Callable[[str], None]) -> None:
    """The same for a node that runs: whoever does not read its file anew by itself is ended, and the kubelet starts it again."""
    fresh = ensure(node, spec, identity, warn)
    for file, program in renewal.CONFS.items():
        if program and f"{KUBERNETES_DIRECTORY}/{file}" in fresh:
            node.run(["pkill", "-x", program], timeout=30)


def _below(copy: Path, path: str) -> Path:
    return copy / path.lstrip("/")


def _write(copy: Path, files: dict[str, File]) -> None:
    """Names that the node gave: none may lead out of the directory."""
    tree = Tree(copy)
    for path, file in files.items():
        tree.write(path, file.content, file.mode)


def _read(copy: Path) -> dict[str, File]:
    return {
        f"/{path.relative_to(copy)}": File(path.read_bytes(), path.stat().st_mode & 0o7777) for path in copy.rglob("*") if path.is_file()
    }
