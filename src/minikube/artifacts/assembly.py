"""From single artifacts to everything a node needs: node image, binaries in their places, images, prepared containerd store."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from minikube.artifacts import clusterimages, nodeimage, nodeskeleton, oci, prepared, seed
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.clusterimages import cluster_images
from minikube.artifacts.components import Components
from minikube.artifacts.gocomponents import go_components
from minikube.artifacts.nodeimage import build_node_image
from minikube.artifacts.oci import write_archive
from minikube.artifacts.prepared import build_prepared_store
from minikube.artifacts.provide import Binaries, BinaryRecipes, binaries, binary_recipes, missing_recipes, provide_all
from minikube.artifacts.seed import build_seed
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

SUITE = "trixie"
# The names a node knows the multi-call binary by; the control plane's are in its images.
NODE_NAMES = ("kubelet", "kubeadm", "kubectl")


def provide_components(versions: VersionSet, progress: Progress) -> Components:
    """Have everything of a version set in the store, building what is missing."""
    store = Store()
    programs, image, laid_out, stocked, planted = _recipes(versions, store)
    provide_all((*programs, image, laid_out, stocked, planted), store, progress, components=go_components(versions))
    found = binaries(programs, store)
    return Components(
        kubernetes_version=versions.kubernetes,
        node_image=store.path(image),
        node_binaries=store.path(laid_out),
        prepared_store=store.path(stocked),
        seed=store.path(planted) / seed.SEED,
        runc=found.runc,
        kubectl=found.kubectl,
    )


def missing_components(versions: VersionSet, root: Path) -> list[Recipe]:
    """What `provide_components` would have to make first."""
    store = Store(root)
    return missing_recipes(component_recipes(versions, store), store)


def component_recipes(versions: VersionSet, store: Store) -> list[Recipe]:
    """Everything a start with these versions looks for in the store."""
    programs, *others = _recipes(versions, store)
    return [*programs, *others]


def write_image_archive(versions: VersionSet, path: Path) -> None:
    """All images of a version set whose components are in the store, as an OCI archive."""
    store = Store()
    programs, image, *_ = _recipes(versions, store)
    found = _by_name(binaries(programs, store))
    write_archive(path, cluster_images(binaries=found, node_image=store.path(image), **_image_versions(versions)))


def _recipes(versions: VersionSet, store: Store) -> tuple[BinaryRecipes, Recipe, Recipe, Recipe, Recipe]:
    """Programs, node image, their places in a node, prepared images, seed."""
    programs = binary_recipes(versions, store)
    image = _node_image()
    laid_out = _node_binaries(programs, store)
    stocked = _prepared_store(versions, programs, image, laid_out, store)
    return programs, image, laid_out, stocked, _seed(versions, programs, store)


def _node_image() -> Recipe:
    return Recipe(
        name="node-image",
        identity=f"{SUITE} {_code(nodeimage, nodeskeleton)}",
        build=lambda target, progress: build_node_image(target, suite=SUITE),
        host_packages=("mmdebstrap",),
        estimate_seconds=20,
        what=f"node image (Debian {SUITE})",
    )


def _node_binaries(programs: BinaryRecipes, store: Store) -> Recipe:
    def build(target: Path, progress: Progress) -> None:
        found = binaries(programs, store)
        directory = target / "usr/local/bin"
        directory.mkdir(parents=True)
        for path in (found.containerd, found.containerd_shim, found.ctr, found.crictl, found.kubernetes):
            os.link(path, directory / path.name)
        # The host runs its own runc: never the same file.
        shutil.copy2(found.runc, directory / "runc")
        for name in NODE_NAMES:
            (directory / name).symlink_to("kubernetes")
        plugins = target / "usr/local/libexec/cni"
        plugins.mkdir(parents=True)
        for plugin in found.cni_plugins.iterdir():
            os.link(plugin, plugins / plugin.name)

    return Recipe(
        name="node-binaries",
        identity=f"{NODE_NAMES} 1",
        build=build,
        needs=(programs.kubernetes, programs.containerd, programs.runc, programs.crictl, programs.cni_plugins),
        estimate_seconds=1,
        what="binaries of the node, in their places",
    )


def _prepared_store(versions: VersionSet, programs: BinaryRecipes, image: Recipe, laid_out: Recipe, store: Store) -> Recipe:
    def build(target: Path, progress: Progress) -> None:
        found = binaries(programs, store)
        archive = target.parent / "images.tar"
        write_image_archive(versions, archive)
        build_prepared_store(
            target,
            containerd=found.containerd,
            ctr=found.ctr,
            archives=[archive],
            pinned=[f"registry.k8s.io/pause:{versions.pause}"],
            share={"usr/local/bin/kubernetes": store.path(laid_out) / "usr/local/bin/kubernetes"},
        )
        archive.unlink()

    return Recipe(
        name=f"images-{versions.kubernetes}",
        identity=f"{versions} {_code(clusterimages, oci, prepared)}",
        build=build,
        needs=(
            programs.kubernetes,
            programs.etcd,
            programs.coredns,
            programs.pause,
            programs.storage_provisioner,
            programs.containerd,
            image,
            laid_out,
        ),
        estimate_seconds=15,
        what=f"images of Kubernetes {versions.kubernetes}, unpacked for containerd",
    )


def _seed(versions: VersionSet, programs: BinaryRecipes, store: Store) -> Recipe:
    def build(target: Path, progress: Progress) -> None:
        found = binaries(programs, store)
        build_seed(target, etcd=found.etcd, kubernetes=found.kubernetes)

    return Recipe(
        name=f"seed-{versions.kubernetes}",
        identity=_code(seed),
        build=build,
        needs=(programs.kubernetes, programs.etcd),
        estimate_seconds=10,
        what=f"first database content of Kubernetes {versions.kubernetes}",
    )


def _image_versions(versions: VersionSet) -> dict[str, str]:
    return {
        "kubernetes_version": versions.kubernetes,
        "etcd_tag": f"{versions.etcd.lstrip('v')}-0",
        "coredns_version": versions.coredns,
        "pause_version": versions.pause,
    }


def _by_name(found: Binaries) -> dict[str, Path]:
    return {
        "kubernetes": found.kubernetes,
        "etcd": found.etcd,
        "coredns": found.coredns,
        "pause": found.pause,
        "storage-provisioner": found.storage_provisioner,
    }


def _code(*modules: object) -> str:
    """The code that makes an artifact is part of what it is made from."""
    whole = hashlib.sha256()
    for module in modules:
        whole.update(Path(str(getattr(module, "__file__", ""))).read_bytes())
    return whole.hexdigest()[:16]
