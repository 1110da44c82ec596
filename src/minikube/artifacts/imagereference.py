"""Names of images, taken apart as docker and containerd do."""

from __future__ import annotations

import re
from typing import NamedTuple

from minikube.artifacts.endpoints import DOCKER_HUB
from minikube.output.reason import Reason

_DIGEST = re.compile(r"sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[\w][\w.-]{0,127}")


class Reference(NamedTuple):
    """`docker.io/library/nginx:1.29`, in its parts."""

    registry: str
    repository: str
    tag: str
    digest: str = ""

    @property
    def wanted(self) -> str:
        """What to ask a registry for: the digest if there is one."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.registry}/{self.repository}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> Reference:
    """`nginx` means docker.io/library/nginx:latest; a first part with a dot or a port, or `localhost`, is a registry."""
    name, _, digest = text.strip().partition("@")
    registry, slash, rest = name.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        registry, rest = DOCKER_HUB, name
    repository, colon, tag = rest.rpartition(":") if ":" in rest else (rest, "", "")
    if registry in ("index.docker.io", DOCKER_HUB):
        registry = DOCKER_HUB
        repository = repository if "/" in repository else f"library/{repository}"
    fits = _REPOSITORY.fullmatch(repository) and (not colon or _TAG.fullmatch(tag)) and ("@" not in text or _DIGEST.fullmatch(digest))
    if not fits:
        raise Reason(
            "MK_USAGE", f'"{text}" is not the name of an image', advice="Names look like nginx:1.29 or registry.example/team/app:v1."
        )
    return Reference(registry, repository, tag or ("" if digest else "latest"), digest)
