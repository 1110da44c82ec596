"""What dl.k8s.io, GitHub and registry.k8s.io have of a version set, on loopback, made from what the store has built from modules."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from pathlib import Path

from support.registryserver import Pusher

from minikube.artifacts.assembly import _by_name, _image_versions, node_image_recipe, provide_components
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.clusterimages import cluster_images
from minikube.artifacts.gocomponents import go_components, goarch
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.oci import write_archive
from minikube.artifacts.provide import Binaries, binaries, binary_recipes
from minikube.artifacts.store import Store
from minikube.output.progress import silent


def built(versions: VersionSet) -> Binaries:
    provide_components(versions, silent())
    return binaries(binary_recipes(versions, Store()), Store())


def fill_mirror(directory: Path, versions: VersionSet) -> None:
    """The layout of the official places. One binary plays all of Kubernetes, as it goes by the name it is called by."""
    found, architecture = built(versions), goarch()
    kubernetes = directory / versions.kubernetes / "bin/linux" / architecture
    kubernetes.mkdir(parents=True)
    for name, source in (("kubelet", found.kubernetes), ("kubeadm", found.kubernetes), ("kubectl", found.kubectl)):
        _link(source, kubernetes / name)
        _checksums(kubernetes / name, "sha512", "sha256", bare=True)
    runc = _project(directory, "opencontainers/runc", versions.runc)
    _link(found.runc, runc / f"runc.{architecture}")
    signed = f"-----BEGIN PGP SIGNED MESSAGE-----\n\n{'0' * 64} *runc.other\n{_digest(found.runc, 'sha256')} *runc.{architecture}\n"
    (runc / "runc.sha256sum").write_text(signed)
    containerd = _project(directory, "containerd/containerd", versions.containerd)
    archive = containerd / f"containerd-static-{versions.containerd.lstrip('v')}-linux-{architecture}.tar.gz"
    _pack(archive, "bin", found.containerd, found.containerd_shim, found.ctr)
    _checksums(archive, "sha256sum")
    crictl = _project(directory, "kubernetes-sigs/cri-tools", versions.crictl) / f"crictl-{versions.crictl}-linux-{architecture}.tar.gz"
    _pack(crictl, ".", found.crictl)
    _checksums(crictl, "sha256", bare=True)
    plugins = _project(directory, "containernetworking/plugins", versions.cni_plugins)
    packed = plugins / f"cni-plugins-linux-{architecture}-{versions.cni_plugins}.tgz"
    _pack(packed, ".", *found.cni_plugins.iterdir())
    _checksums(packed, "sha512", "sha256")


def fill_registry(host: str, scratch: Path, versions: VersionSet) -> dict[str, str]:
    """Push the images of a version set; their digests by `name:tag`."""
    found = built(versions)
    image = Store().path(node_image_recipe())
    images = cluster_images(binaries=_by_name(found), node_image=image, **_image_versions(versions))
    write_archive(scratch / "images.tar", [one for one in images if "storage-provisioner" not in one.name])
    layout = scratch / "layout"
    with tarfile.open(scratch / "images.tar") as packed:
        packed.extractall(layout, filter="data")
    (scratch / "images.tar").unlink()
    pushed = Pusher(host).layout(layout)
    shutil.rmtree(layout)
    return pushed


def share_what_is_not_released(store: Path, versions: VersionSet) -> None:
    """Hard links to the node image and the storage provisioner, which no source but our own has."""
    component = next(one for one in go_components(versions) if one.name == "storage-provisioner")
    for recipe in (node_image_recipe(), go_recipe(component, Store())):
        entry = Store().provide(recipe, silent()).parent
        shutil.copytree(entry, store / "entries" / entry.name, copy_function=_link, symlinks=True)


def _project(directory: Path, project: str, version: str) -> Path:
    place = directory / project / "releases/download" / version
    place.mkdir(parents=True)
    return place


def _pack(archive: Path, prefix: str, *programs: Path) -> None:
    with tarfile.open(archive, "w:gz", compresslevel=0) as packed:
        packed.addfile(tarfile.TarInfo("../escaped"), io.BytesIO())
        for program in programs:
            packed.add(program, f"{prefix}/{program.name}")


def _checksums(file: Path, *suffixes: str, bare: bool = False) -> None:
    for suffix in suffixes:
        digest = _digest(file, suffix.removesuffix("sum"))
        file.with_name(f"{file.name}.{suffix}").write_text(digest if bare else f"{digest}  {file.name}\n")


def _digest(file: Path, algorithm: str) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
