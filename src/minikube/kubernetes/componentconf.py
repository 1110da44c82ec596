"""The kubeconfigs of the control plane's own components, as kubeadm's `kubeconfig` phase would make them.

kubeadm keeps a file it finds if authority and server are what it expects, so it keeps these.
"""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from minikube.host.files import cannot_write
from minikube.kubernetes import pki
from minikube.kubernetes.clusterspec import CONTROL_PLANE_NAME


class ComponentConf(NamedTuple):
    """One file: who its user is, and whether it talks to this node's API server or to the cluster's name for it."""

    file: str
    user: str
    group: str = ""
    local: bool = False


ADMINS = "kubeadm:cluster-admins"
ADMINS_BEFORE_129 = "system:masters"


def component_confs(node_name: str, *, admins: str = ADMINS, control_plane: bool = True) -> tuple[ComponentConf, ...]:
    """Those of a control plane; a worker has the kubelet's alone, and nobody's who may do more."""
    kubelet = ComponentConf("kubelet.conf", f"system:node:{node_name}", "system:nodes", local=control_plane)
    if not control_plane:
        return (kubelet,)
    return (
        ComponentConf("admin.conf", "kubernetes-admin", admins),
        ComponentConf("super-admin.conf", "kubernetes-super-admin", "system:masters"),
        kubelet,
        ComponentConf("controller-manager.conf", "system:kube-controller-manager", local=True),
        ComponentConf("scheduler.conf", "system:kube-scheduler", local=True),
    )


def ensure_component_confs(
    directory: Path,
    *,
    authority: pki.Authority,
    node_name: str,
    node_ip: str,
    port: int,
    cluster_name: str,
    lifetime: timedelta = pki.LEAF_LIFETIME,
    admins: str = ADMINS,
    control_plane: bool = True,
) -> list[str]:
    """Write the files that are missing, expiring or lead elsewhere into the node's /etc/kubernetes; say which.

    `directory` is the host's path of it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(directory, error) from error
    made = []
    for conf in component_confs(node_name, admins=admins, control_plane=control_plane):
        server = f"https://{node_ip if conf.local else CONTROL_PLANE_NAME}:{port}"
        request = pki.LeafRequest(conf.user, conf.group, client=True, lifetime=lifetime)
        ca = pki.authority_pem(authority).certificate
        path = directory / conf.file
        before = _read(path)
        if before is not None and _same_target(before, server, ca) and pki.fits(_credentials(before), authority, request):
            continue
        text = render(server=server, cluster_name=cluster_name, user=conf.user, authority=ca, credentials=pki.issue(authority, request))
        pki.write_private(path, text.encode())
        made.append(conf.file)
    return made


def render(*, server: str, cluster_name: str, user: str, authority: bytes, credentials: pki.Issued) -> str:
    """A kubeconfig with everything embedded."""

    def data(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    context = f"{user}@{cluster_name}"
    return f"""apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {data(authority)}
    server: {server}
  name: {cluster_name}
contexts:
- context:
    cluster: {cluster_name}
    user: {user}
  name: {context}
current-context: {context}
kind: Config
preferences: {{}}
users:
- name: {user}
  user:
    client-certificate-data: {data(credentials.certificate)}
    client-key-data: {data(credentials.key)}
"""


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _same_target(text: str, server: str, authority: bytes) -> bool:
    return _field(text, "server") == server and _field(text, "certificate-authority-data") == base64.b64encode(authority).decode()


def _credentials(text: str) -> pki.Issued:
    try:
        return pki.Issued(base64.b64decode(_field(text, "client-certificate-data")), base64.b64decode(_field(text, "client-key-data")))
    except ValueError:
        return pki.Issued(b"", b"")


def _field(text: str, key: str) -> str:
    # Only files in the shape of render() are recognised: anything else is written anew.
    prefix = f"    {key}: "
    return next((line[len(prefix) :] for line in text.splitlines() if line.startswith(prefix)), "")
