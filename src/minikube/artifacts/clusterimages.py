"""The images a cluster is made of, with the names kubeadm expects, built from our own binaries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from minikube.artifacts.oci import Entry, Image, Layer
from minikube.host.process import run

CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")

_BIN = "usr/local/bin"
_BUNDLE = "etc/ssl/certs/ca-certificates.crt"

# What programs look for even where there is nothing else: names of users, the order of name lookups, a place for scratch files.
_BASE: Layer = (
    Entry("etc/passwd", 0o644, content=b"root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"),
    Entry("etc/group", 0o644, content=b"root:x:0:\nnogroup:x:65534:\n"),
    Entry("etc/nsswitch.conf", 0o644, content=b"hosts: files dns\n"),
    Entry("tmp", 0o1777),
)


def cluster_images(
    *,
    kubernetes_version: str,
    etcd_tag: str,
    coredns_version: str,
    pause_version: str,
    binaries: Mapping[str, Path],
    node_image: Path,
) -> list[Image]:
    """All images of one version set. `binaries` has kubernetes, etcd, coredns and pause, and storage-provisioner if there is one."""
    kubernetes = _kubernetes_layer(binaries["kubernetes"])
    certificates = (*_BASE, Entry(_BUNDLE, 0o644, source=node_image / _BUNDLE))
    images = [
        *(Image(f"registry.k8s.io/{name}:{kubernetes_version}", (_BASE, kubernetes), entrypoint=(name,)) for name in CONTROL_PLANE),
        Image(
            f"registry.k8s.io/kube-proxy:{kubernetes_version}",
            (_BASE, kubernetes, nft_layer(node_image)),  # in this order: the first two are unpacked once for all four
            entrypoint=("kube-proxy",),
        ),
        Image(
            f"registry.k8s.io/etcd:{etcd_tag}",
            (_BASE, (Entry(f"{_BIN}/etcd", source=binaries["etcd"]),)),
            entrypoint=("etcd",),
            ports=("2379/tcp", "2380/tcp"),
        ),
        Image(
            f"registry.k8s.io/coredns/coredns:{coredns_version}",
            (certificates, (Entry("coredns", source=binaries["coredns"]),)),
            entrypoint=("/coredns",),
            ports=("53/tcp", "53/udp"),
        ),
        Image(
            f"registry.k8s.io/pause:{pause_version}",
            ((Entry("pause", source=binaries["pause"]),),),
            entrypoint=("/pause",),
            user="65535:65535",
        ),
    ]
    if provisioner := binaries.get("storage-provisioner"):
        layer = (Entry("storage-provisioner", source=provisioner),)
        images.append(Image("gcr.io/k8s-minikube/storage-provisioner:v5", (certificates, layer), entrypoint=("/storage-provisioner",)))
    return images


def _kubernetes_layer(binary: Path) -> Layer:
    """One binary with the names of all components: on disk and in memory once, whatever a node runs of it."""
    links = (Entry(f"{_BIN}/{name}", target="kubernetes") for name in (*CONTROL_PLANE, "kube-proxy"))
    return (Entry(f"{_BIN}/kubernetes", source=binary), *links)


def nft_layer(node_image: Path) -> Layer:
    """`nft`, which kube-proxy runs, with the libraries it is linked to and the names of protocols, out of the node image.

    Without the names it says 6 instead of tcp: a second kube-proxy would take the first one's rules for strangers, and remove them.
    """
    linked = re.findall(r"(/\S+) \(0x", run(["chroot", str(node_image), "ldd", "/usr/sbin/nft"]).text)
    # ldd tells of /lib and /lib64, which are links into /usr in the node image and become the same here.
    places = ["usr/sbin/nft", *("usr/" + path.removeprefix("/usr").lstrip("/") for path in linked)]
    return (
        *(Entry(name, target=f"usr/{name}") for name in ("lib", "lib64")),
        *(Entry(place, source=node_image / place) for place in (*places, "etc/protocols")),
    )
