"""What a node is made of: in the store already, or what making it takes."""

from __future__ import annotations

import os
import shutil

from minikube.artifacts import catalogue, sources, unpinned
from minikube.artifacts.assembly import missing_components
from minikube.artifacts.buildtools import check_installable, missing_packages
from minikube.artifacts.origin import Origin
from minikube.artifacts.provide import check_space, seconds_to_make
from minikube.artifacts.store import Store
from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking, several
from minikube.output.reason import Reason


def provided(ground: Ground) -> Finding:
    version = ground.kubernetes_version or catalogue.resolve_version("")
    built, released = (unpinned.known(version, source) for source in (sources.MODULES, sources.RELEASE))
    try:
        missing = missing_components(built, ground.store) if built else None
        if missing != [] and released and not sources.missing(released, Origin(), sources.RELEASE, Store(ground.store)):
            missing = []
        if missing is None:
            return doubtful(
                f"Kubernetes {version} has not been used here yet: the first start finds out what it is made of, and makes it",
                f"Run once, ahead of time: minikube start --download-only --kubernetes-version={version}",
            )
    except PermissionError:
        return fine(f"in {ground.store}, some of it for root's eyes only: start looks closer")
    if not missing:
        return fine(f"everything of Kubernetes {version} is in {ground.store}")
    packages = missing_packages(package for recipe in missing for package in recipe.host_packages)
    try:
        check_installable(packages)
        check_space(ground.store, missing)
    except Reason as reason:
        return lacking(reason.message, reason.advice)
    minutes = max(1, round(seconds_to_make(missing) / 60))
    has_go = shutil.which("go", path=ground.environment.get("PATH", os.defpath))
    return doubtful(
        several(
            f"{len(missing)} of Kubernetes {version} are not in {ground.store} yet: the first start makes them in about {minutes} min",
            f"it installs {', '.join(packages)} first" if packages else "",
            "" if has_go else "Go comes from PyPI",
        ),
        f"Run once, ahead of time: minikube start --download-only --kubernetes-version={version}",
    )


def kubectl(ground: Ground) -> Finding:
    found = shutil.which("kubectl", path=ground.environment.get("PATH", os.defpath))
    return fine(f"{found} on the PATH" if found else "not on the PATH; `minikube kubectl --` is one that fits")
