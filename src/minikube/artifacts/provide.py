"""Everything a version set needs, made in one go: what is missing is said beforehand, then built as parallel as the machine allows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts.buildtools import check_installable, install_packages, missing_packages
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.gocomponents import GoComponent, go_components
from minikube.artifacts.gomodules import compile_standard_library, download_modules, go_recipe, recipe_name
from minikube.artifacts.jobs import Job, run_jobs
from minikube.artifacts.pause import pause_recipe
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress, duration
from minikube.output.reason import Reason

_FIRST_MODULES = "modules of the longest build"
_MODULES = "modules of the others"
_STANDARD_LIBRARY = "Go standard library"
_TOOLS = "Debian packages for building"

# Modules, compiled packages and results of a build from nothing; and what the rest of it takes when the caches are warm.
_SPACE_COLD = 8 << 30
_SPACE_WARM = 1 << 30


class Binaries(NamedTuple):
    """Where the programs of a version set are. Static, executable, read-only."""

    kubernetes: Path
    """One program for all of Kubernetes, chosen by the name it is called by."""
    kubectl: Path
    """Smaller than the above, for the host."""
    etcd: Path
    coredns: Path
    containerd: Path
    containerd_shim: Path
    ctr: Path
    runc: Path
    crictl: Path
    podstarter: Path
    """Starts many pods with one process, where crictl would need one for each."""
    cni_plugins: Path
    """A directory of them."""
    storage_provisioner: Path
    pause: Path


class BinaryRecipes(NamedTuple):
    """The recipes behind a version set's binaries, for other recipes to need."""

    kubernetes: Recipe
    etcd: Recipe
    coredns: Recipe
    containerd: Recipe
    runc: Recipe
    crictl: Recipe
    cni_plugins: Recipe
    storage_provisioner: Recipe
    pause: Recipe


def binary_recipes(versions: VersionSet, store: Store) -> BinaryRecipes:
    made = {component.name.replace("-", "_"): go_recipe(component, store) for component in go_components(versions)}
    return BinaryRecipes(**made, pause=pause_recipe(versions.pause, versions.kubernetes, store))


def binaries(recipes: BinaryRecipes, store: Store) -> Binaries:
    """Where the programs are once their recipes have been provided."""
    containerd = store.path(recipes.containerd)
    return Binaries(
        kubernetes=store.path(recipes.kubernetes) / "kubernetes",
        kubectl=store.path(recipes.kubernetes) / "kubectl",
        etcd=store.path(recipes.etcd) / "etcd",
        coredns=store.path(recipes.coredns) / "coredns",
        containerd=containerd / "containerd",
        containerd_shim=containerd / "containerd-shim-runc-v2",
        ctr=containerd / "ctr",
        runc=store.path(recipes.runc) / "runc",
        crictl=store.path(recipes.crictl) / "crictl",
        podstarter=store.path(recipes.crictl) / "podstarter",
        cni_plugins=store.path(recipes.cni_plugins),
        storage_provisioner=store.path(recipes.storage_provisioner) / "storage-provisioner",
        pause=store.path(recipes.pause) / "pause",
    )


def provide_binaries(versions: VersionSet, store: Store, progress: Progress) -> Binaries:
    """All Go components and pause of a version set."""
    recipes = binary_recipes(versions, store)
    provide_all(recipes, store, progress, components=go_components(versions))
    return binaries(recipes, store)


def missing_recipes(recipes: Sequence[Recipe], store: Store) -> list[Recipe]:
    """What would have to be made, including what the given recipes need."""
    found: dict[str, Recipe] = {}

    def look(recipe: Recipe) -> None:
        if recipe.entry_name not in found and not store.has(recipe):
            found[recipe.entry_name] = recipe
            for need in recipe.needs:
                look(need)

    for recipe in recipes:
        look(recipe)
    return list(found.values())


def provide_all(recipes: Sequence[Recipe], store: Store, progress: Progress, *, components: Sequence[GoComponent] = ()) -> None:
    """Have every recipe's entry in the store. `components` are those whose modules can be fetched ahead."""
    missing = missing_recipes(recipes, store)
    if not missing:
        return
    packages = missing_packages(package for recipe in missing for package in recipe.host_packages)
    check_installable(packages)
    check_space(store.root, missing)
    _announce(missing, packages, progress)
    store.sweep()
    names = {recipe.name for recipe in missing}
    ahead = [component for component in components if recipe_name(component) in names]
    run_jobs(_jobs(missing, ahead, packages, store, progress), at_once=2)


def _jobs(missing: list[Recipe], ahead: list[GoComponent], packages: list[str], store: Store, progress: Progress) -> list[Job]:
    first = {recipe_name(component) for component in ahead[:1]}
    others = {recipe_name(component) for component in ahead[1:]}
    jobs = []
    for recipe in missing:
        needs = [*(need.name for need in recipe.needs), *recipe.after]
        needs += [_TOOLS] if recipe.host_packages else []
        needs += [_FIRST_MODULES, _STANDARD_LIBRARY] if recipe.name in first else []
        needs += [_MODULES, _STANDARD_LIBRARY] if recipe.name in others else []
        jobs.append(Job(recipe.name, partial(store.provide, recipe, progress), tuple(needs), recipe.estimate_seconds, recipe.light))
    if packages:
        jobs.append(Job(_TOOLS, partial(install_packages, packages, progress), light=True))
    if ahead and not (store.root / "go" / "build").exists():
        # Two builds at once would each compile it; and there is nothing else to compile before the modules are here.
        jobs.append(Job(_STANDARD_LIBRARY, partial(compile_standard_library, ahead[0], store, progress), seconds=40))
    if ahead:
        jobs.append(Job(_FIRST_MODULES, partial(download_modules, ahead[:1], store, progress), light=True))
    if others:
        jobs.append(Job(_MODULES, partial(download_modules, ahead[1:], store, progress), (_FIRST_MODULES,), light=True))
    return jobs


def seconds_to_make(missing: Sequence[Recipe]) -> float:
    """About how long, on this machine with nothing else to do."""
    # The estimates are for two cores; compiling scales well, linking and unpacking do not.
    return sum(recipe.estimate_seconds for recipe in missing) * (0.2 + 0.8 * 2 / max(os.cpu_count() or 2, 1))


def _announce(missing: list[Recipe], packages: list[str], progress: Progress) -> None:
    cores = os.cpu_count() or 2
    seconds = seconds_to_make(missing)
    downloads = [recipe.label for recipe in missing if recipe.light]
    builds = [recipe.label for recipe in missing if not recipe.light]
    if downloads:
        progress.say(f"To be downloaded, once for all clusters of this machine: {', '.join(downloads)}")
    if builds:
        progress.say(f"To be made, once for all clusters of this machine: {', '.join(builds)}")
    about = f"{round(seconds / 60)} minutes" if seconds > 90 else duration(max(seconds, 1))
    progress.say(f"This takes about {about} on {cores} cores if nothing else is busy; interrupted, it goes on where it stopped")
    if packages:
        progress.say(f"It will install Debian packages, only to build: {', '.join(packages)}")


def check_space(root: Path, missing: Sequence[Recipe]) -> None:
    """Refuse to begin what the store's file system has no room for: better now than after minutes."""
    place = next(path for path in (root, *root.parents) if path.exists())
    cold = sum(recipe.estimate_seconds for recipe in missing) > 120 and not (root / "go" / "build").exists()
    needed, free = (_SPACE_COLD if cold else _SPACE_WARM), shutil.disk_usage(place).free
    if free < needed and any(recipe.estimate_seconds > 5 for recipe in missing):
        raise Reason(
            "RSRC_INSUFFICIENT_STORAGE",
            f"Components need about {needed >> 30} GB below {root}, and there is {free / (1 << 30):.1f} GB free",
            advice="Free some space there, or set MINIKUBE_STORE to a directory on a larger file system.",
        )
