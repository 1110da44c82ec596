"""From single artifacts to everything a node needs: node image, binaries in their places, images, prepared containerd store."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.components import Components
from minikube.artifacts.endpoints import IMAGES, image_names
from minikube.artifacts.gocomponents import go_components, goarch
from minikube.artifacts.provide import Binaries, BinaryRecipes, binaries, binary_recipes, missing_recipes, provide_all
from minikube.artifacts.recipecode import code_of
from minikube.artifacts.seed import SEED, build_seed
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

SUITE = "trixie"
# The names a node knows the multi-call binary by; the control plane's are in its images.
NODE_NAMES = ("kubelet", "kubeadm")


def provide_components(versions: VersionSet, progress: Progress, *, repository: str = IMAGES) -> Components:
    """Have everything of a version set in the store, building what is missing; the images are called as those of `repository`."""
    store = Store()
    provide_all(component_recipes(versions, store, repository=repository), store, progress, components=go_components(versions))
    return present_components(versions, repository=repository)


def present_components(versions: VersionSet, *, repository: str = IMAGES) -> Components:
    """Everything of a version set of which nothing is missing in the store."""
    store = Store()
    programs, image, laid_out, stocked, planted = _recipes(versions, store, repository)
    found = binaries(programs, store)
    return Components(
        kubernetes_version=versions.kubernetes,
        node_image=store.path(image),
        node_binaries=store.path(laid_out),
        prepared_store=store.path(stocked),
        seed=store.path(planted) / SEED,
        runc=found.runc,
        kubectl=found.kubectl,
    )


def missing_components(versions: VersionSet, root: Path, *, repository: str = IMAGES) -> list[Recipe]:
    """What `provide_components` would have to make first."""
    store = Store(root)
    return missing_recipes(component_recipes(versions, store, repository=repository), store)


def component_recipes(versions: VersionSet, store: Store, *, repository: str = IMAGES) -> list[Recipe]:
    """Everything a start with these versions looks for in the store."""
    programs, *others = _recipes(versions, store, repository)
    return [*programs, *others]


def write_image_archive(versions: VersionSet, path: Path, *, repository: str = IMAGES) -> None:
    """All images of a version set whose components are in the store, as an OCI archive; called as those of `repository`."""
    from minikube.artifacts.clusterimages import cluster_images
    from minikube.artifacts.oci import write_archive

    store = Store()
    programs, image, *_ = _recipes(versions, store)
    found = _by_name(binaries(programs, store))
    images = cluster_images(binaries=found, node_image=store.path(image), **_image_versions(versions))
    names, public = image_names(versions, repository), image_names(versions, IMAGES)
    called = {public[component]: name for component, name in names.items()}
    write_archive(path, [one._replace(name=called.get(one.name, one.name)) for one in images])


def _recipes(versions: VersionSet, store: Store, repository: str = IMAGES) -> tuple[BinaryRecipes, Recipe, Recipe, Recipe, Recipe]:
    """Programs, node image, their places in a node, prepared images, seed."""
    programs = binary_recipes(versions, store)
    image = node_image_recipe()
    laid_out = _node_binaries(programs, store)
    stocked = _prepared_store(versions, programs, image, laid_out, store, repository=repository)
    return programs, image, laid_out, stocked, _seed(versions, programs, store)


def node_image_recipe() -> Recipe:
    def build(target: Path, progress: Progress) -> None:
        from minikube.artifacts.nodeimage import build_node_image

        build_node_image(target, suite=SUITE)

    return Recipe(
        name="node-image",
        identity=f"{SUITE} {code_of('nodeimage', 'nodeskeleton')}" + ("" if goarch() == "amd64" else f" {goarch()}"),
        build=build,
        host_packages=("mmdebstrap",),
        estimate_seconds=20,
        what=f"node image (Debian {SUITE})",
    )


def _node_binaries(programs: BinaryRecipes, store: Store) -> Recipe:
    def build(target: Path, progress: Progress) -> None:
        found = binaries(programs, store)
        directory = target / "usr/local/bin"
        directory.mkdir(parents=True)
        for path in (found.containerd, found.containerd_shim, found.ctr, found.crictl, found.podstarter, found.kubernetes):
            os.link(path, directory / path.name)
        # The host runs its own of these: never the same file.
        for path in (found.runc, found.kubectl):
            shutil.copy2(path, directory / path.name)
        for name in NODE_NAMES:
            (directory / name).symlink_to("kubernetes")
        plugins = target / "usr/local/libexec/cni"
        plugins.mkdir(parents=True)
        for plugin in found.cni_plugins.iterdir():
            os.link(plugin, plugins / plugin.name)

    return Recipe(
        name="node-binaries",
        identity=f"{NODE_NAMES} 3",
        build=build,
        needs=(programs.kubernetes, programs.containerd, programs.runc, programs.crictl, programs.cni_plugins),
        estimate_seconds=1,
        what="binaries of the node, in their places",
    )


def _prepared_store(
    versions: VersionSet, programs: BinaryRecipes, image: Recipe, laid_out: Recipe, store: Store, *, repository: str
) -> Recipe:
    def build(target: Path, progress: Progress) -> None:
        from minikube.artifacts.prepared import build_prepared_store

        found = binaries(programs, store)
        archive = target.parent / "images.tar"
        write_image_archive(versions, archive, repository=repository)
        build_prepared_store(
            target,
            containerd=found.containerd,
            ctr=found.ctr,
            archives=[archive],
            pinned=[image_names(versions, repository)["pause"]],
            share={"usr/local/bin/kubernetes": store.path(laid_out) / "usr/local/bin/kubernetes"},
        )
        archive.unlink()

    return Recipe(
        name=f"images-{versions.kubernetes}",
        identity=f"{versions} {code_of('clusterimages', 'oci', 'prepared')}" + ("" if repository == IMAGES else f" {repository}"),
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
        kubernetes = str(found.kubernetes)
        build_seed(
            target,
            etcd=found.etcd,
            api_server=[kubernetes, "kube-apiserver"],
            controller_manager=[kubernetes, "kube-controller-manager"],
        )

    return Recipe(
        name=f"seed-{versions.kubernetes}",
        identity=code_of("seed", "seedcheck"),
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
