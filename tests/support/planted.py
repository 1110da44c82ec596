"""Files of somebody else at the places that other Kubernetes tools take for their own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACES = (
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/manifests/theirs.yaml",
    "/etc/kubernetes/pki/ca.key",
    "/etc/cni/net.d/10-theirs.conflist",
    "/etc/containerd/theirs.toml",
    "/etc/systemd/system/kubelet.service",
    "/data/minikube/theirs",
    "/opt/cni/bin/theirs",
    "/tmp/hostpath-provisioner/theirs",
    "/tmp/hostpath_pv/theirs",
    "/usr/local/bin/kubeadm",
    "/usr/local/bin/kubectl",
    "/usr/local/bin/kubelet",
    "/var/lib/etcd/member/theirs",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/minikube/certs/theirs.key",
    "/var/tmp/minikube/theirs",
)


@contextmanager
def planted() -> Iterator[dict[Path, bytes]]:
    """A file at each place that is free, with its content; gone afterwards, with the directories made for them, however the tests went."""
    contents: dict[Path, bytes] = {}
    made: list[Path] = []
    try:
        for place in map(Path, PLACES):
            if os.path.lexists(place):
                continue
            missing = [parent for parent in reversed(place.parents) if not parent.exists()]
            for parent in missing:
                parent.mkdir()
                made.append(parent)
            contents[place] = secrets.token_bytes(64)
            place.write_bytes(contents[place])
        yield contents
    finally:
        for place in contents:
            place.unlink(missing_ok=True)
        for directory in reversed(made):
            directory.rmdir()
