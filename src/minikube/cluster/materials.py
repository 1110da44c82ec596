"""What a cluster is made of."""

from __future__ import annotations

from typing import Any

from minikube.artifacts.catalogue import version_set
from minikube.artifacts.sbom import bill_of_materials
from minikube.profiles import profile as profile_files


def bill(profile: str, version: str) -> dict[str, Any]:
    """The bill of materials of a Kubernetes version; of the profile's own if none is named."""
    config = None if version else profile_files.load(profile)
    return bill_of_materials(version_set(config.KubernetesConfig.KubernetesVersion if config else version))
