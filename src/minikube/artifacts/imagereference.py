"""Names of images, taken apart as docker and containerd do."""

from __future__ import annotations

import re
from typing import NamedTuple

from minikube.artifacts.digests import Digest
from minikube.artifacts.endpoints import DOCKER_HUB
from minikube.output.reason import Reason

_REGISTRY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?|\[[0-9a-fA-F:]+\](?::[0-9]+)?")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_LONGEST = 512  # registries take names of 255 characters, and as long a tag as below
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class Reference(NamedTuple):
    """`docker.io/library/nginx:1.29`, in its parts."""

    registry: str
    repository: str
    tag: str
    digest: str = ""

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.registry}/{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> Reference:
    """What a user means, or the reason why that cannot be an image."""
    try:
        return taken_apart(text.strip())
    except ValueError as error:
        advice = "Names look like nginx:1.29 or registry.example/team/app:v1."
        raise Reason("MK_USAGE", f'"{text}" is not the name of an image', advice=advice) from error


def taken_apart(text: str) -> Reference:
    """`nginx` means docker.io/library/nginx:latest; a first part with a dot or a port, or `localhost`, is a registry.

    ValueError for what cannot be the name of an image.
    """
    name, _, digest = text.partition("@")
    registry, slash, rest = name.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        registry, rest = DOCKER_HUB, name
    repository, colon, tag = rest.partition(":")
    if registry in ("index.docker.io", DOCKER_HUB):
        registry = DOCKER_HUB
        repository = repository if "/" in repository else f"library/{repository}"
    valid = _REGISTRY.fullmatch(registry) and _REPOSITORY.fullmatch(repository) and (not colon or _TAG.fullmatch(tag))
    try:
        if not valid or len(name) > _LONGEST:
            raise ValueError
        return Reference(registry, repository, tag or ("" if digest else "latest"), Digest(digest) if "@" in text else "")
    except ValueError:
        raise ValueError(f"{text[:100]!r} is not the name of an image") from None
