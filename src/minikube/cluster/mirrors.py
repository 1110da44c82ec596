"""What a user says about where things are downloaded from: into the profile, and from there to the sources of components."""

from __future__ import annotations

import re
from ipaddress import ip_network

from minikube.artifacts.endpoints import IMAGES
from minikube.artifacts.origin import Origin, chosen_repository
from minikube.artifacts.sources import AUTO, SOURCES, Sourcing
from minikube.output.reason import Reason
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.settings import Settings

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")


def plan_downloads(settings: Settings, config: ClusterConfig, *, fresh: bool) -> None:
    """Mirrors and registries; an existing cluster keeps its own unless the user says otherwise."""
    repository, country = str(settings.get("image-repository")), str(settings.get("image-mirror-country"))
    if fresh or settings.changed("image-repository") or settings.changed("image-mirror-country"):
        config.KubernetesConfig.ImageRepository = chosen_repository(repository, country)
    if settings.get("source") not in SOURCES:
        raise Reason("MK_USAGE", f'--source: "{settings.get("source")}" is none of {", ".join(SOURCES)}')
    if fresh or settings.changed("binary-mirror"):
        config.BinaryMirror = _address("binary-mirror", str(settings.get("binary-mirror")))
    if fresh or settings.changed("insecure-registry"):
        config.InsecureRegistry = [_registry(entry) for entry in settings.get("insecure-registry")] or None
    if fresh or settings.changed("registry-mirror"):
        config.RegistryMirror = [_address("registry-mirror", entry) for entry in settings.get("registry-mirror")]


def origin_of(config: ClusterConfig) -> Origin:
    """The mirrors and registries of a cluster."""
    return Origin(
        binary_mirror=config.BinaryMirror,
        image_repository=config.KubernetesConfig.ImageRepository or IMAGES,
        insecure_registries=tuple(config.InsecureRegistry or ()),
        registry_mirrors=tuple(config.RegistryMirror or ()),
    )


def sourcing(settings: Settings, config: ClusterConfig) -> Sourcing:
    """Which source, and what it is to use. A cluster stays with the source it came from."""
    chosen = str(settings.get("source")) or AUTO
    return Sourcing(chosen, origin_of(config), preferred=config.ComponentSource if chosen == AUTO else "")


def _address(flag: str, text: str) -> str:
    if text and not re.match(r"https?://[^/\s]+", text):
        raise Reason("MK_USAGE", f'--{flag}: "{text}" is not an address', advice="Give one that begins with https:// or http://.")
    return text.rstrip("/")


def _registry(text: str) -> str:
    try:
        if "/" in text:
            ip_network(text, strict=False)
            return text
    except ValueError:
        pass
    if not _HOST.fullmatch(text):
        advice = "Give a host (registry.example), a host with a port (10.0.0.5:5000) or a network (10.0.0.0/24)."
        raise Reason("MK_USAGE", f'--insecure-registry: "{text}" names no registry', advice=advice)
    return text
