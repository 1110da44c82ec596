"""What a cluster is made of."""

from __future__ import annotations

from typing import Any

from minikube.artifacts import unpinned
from minikube.artifacts.catalogue import version_set
from minikube.artifacts.sbom import bill_of_materials
from minikube.artifacts.sources import MODULES, RELEASE
from minikube.cluster.mirrors import origin_of
from minikube.profiles import profile as profile_files


def bill(profile: str, version: str) -> dict[str, Any]:
    """The bill of materials of a Kubernetes version; of the profile's own if none is named."""
    config = None if version else profile_files.load(profile)
    if config is not None:
        version, source = config.KubernetesConfig.KubernetesVersion, config.ComponentSource
        return bill_of_materials(unpinned.recorded(version, source) or version_set(version), source, origin_of(config))
    source = RELEASE if unpinned.recorded(version, RELEASE) and not unpinned.recorded(version, MODULES) else MODULES
    return bill_of_materials(unpinned.recorded(version, source) or version_set(version), source)
