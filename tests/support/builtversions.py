"""Other versions of Kubernetes for tests: used where they are in the store, but never compiled for a test alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.minikube import Minikube, Place
from support.nodeimage import fresh_name

from minikube.artifacts.assembly import missing_components
from minikube.artifacts.catalogue import VersionSet
from minikube.profiles.paths import store

AFFORDABLE_SECONDS = 60.0


@contextmanager
def cluster_of(versions: VersionSet, place: Place) -> Iterator[Minikube]:
    """A cluster of these versions, as long as the block lasts."""
    need(versions)
    cluster = Minikube(place, fresh_name())
    try:
        cluster.start(f"--kubernetes-version={versions.kubernetes}")
        yield cluster
    finally:
        cluster.run("delete")


def need(versions: VersionSet) -> None:
    """Skip the test unless a start with these versions has nothing to make that takes long."""
    missing = missing_components(versions, store())
    if sum(recipe.estimate_seconds for recipe in missing) > AFFORDABLE_SECONDS:
        names = ", ".join(recipe.label for recipe in missing)
        command = f"minikube start --download-only --kubernetes-version={versions.kubernetes}"
        pytest.skip(f"not in the store, and too long to build for this alone: {names}; `{command}` makes them in about ten minutes")
