"""Other versions of Kubernetes for tests: used where they are in the store, but never compiled for a test alone."""

from __future__ import annotations

import pytest

from minikube.artifacts.assembly import missing_components
from minikube.artifacts.catalogue import VersionSet
from minikube.profiles.paths import store

AFFORDABLE_SECONDS = 60.0


def need(versions: VersionSet) -> None:
    """Skip the test unless a start with these versions has nothing to make that takes long."""
    missing = missing_components(versions, store())
    if sum(recipe.estimate_seconds for recipe in missing) > AFFORDABLE_SECONDS:
        names = ", ".join(recipe.label for recipe in missing)
        command = f"minikube start --download-only --kubernetes-version={versions.kubernetes}"
        pytest.skip(f"not in the store, and too long to build for this alone: {names}; `{command}` makes them in about ten minutes")
