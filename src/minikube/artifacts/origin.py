"""Where the release source takes things from, as the user chose it."""

from __future__ import annotations

from typing import NamedTuple

from minikube.artifacts.endpoints import IMAGES, IMAGES_BY_COUNTRY
from minikube.output.reason import Reason


class Origin(NamedTuple):
    """Mirrors and registries; the public ones unless said otherwise."""

    binary_mirror: str = ""
    image_repository: str = IMAGES
    insecure_registries: tuple[str, ...] = ()
    registry_mirrors: tuple[str, ...] = ()


def chosen_repository(repository: str, country: str) -> str:
    """The registry for Kubernetes' images that `--image-repository` and `--image-mirror-country` mean; empty for the public one."""
    if repository and repository != "auto":
        return repository.removeprefix("https://").removeprefix("http://").rstrip("/")
    if country and country.lower() not in IMAGES_BY_COUNTRY:
        raise Reason(
            "MK_USAGE",
            f'No mirror of Kubernetes\' images is known for the country "{country}"',
            advice=f"Known: {', '.join(IMAGES_BY_COUNTRY)}. Any other registry can be named with --image-repository.",
        )
    return IMAGES_BY_COUNTRY.get(country.lower(), "")
