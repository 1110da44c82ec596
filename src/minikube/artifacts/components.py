"""Everything a node of one version set needs, as paths into the store."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Components(NamedTuple):
    """Read-only; shared by every node and profile."""

    kubernetes_version: str
    node_image: Path
    """Extracted Debian packages: the node's root, and the network tools that are run on the host."""
    node_binaries: Path
    """Laid over the image's /usr: kubelet, kubeadm, containerd, runc, CNI plugins …"""
    prepared_store: Path
    """A /var/lib/containerd that has every image of the version set."""
    seed: Path
    """A file with the first content of a new cluster's database."""
    runc: Path
    """Run on the host, so never a file that a node can reach."""
    kubectl: Path
    """Run on the host, likewise."""
