"""What images are called: the full name behind a short one, and the file a cached image is kept in."""

from __future__ import annotations

import re

DOCKER_HUB = "docker.io"
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})")
_REGISTRY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?|\[[0-9a-fA-F:]+\](?::[0-9]+)?")


def full_name(text: str) -> str:
    """`busybox` is docker.io/library/busybox:latest; ValueError for what cannot be the name of an image."""
    rest, _, digest = text.partition("@")
    first, slash, others = rest.partition("/")
    has_registry = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, others) if has_registry else (DOCKER_HUB, rest)
    path, colon, tag = path.partition(":")
    if registry == "index.docker.io":
        registry = DOCKER_HUB
    if registry == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    valid = _REGISTRY.fullmatch(registry) and _NAME.fullmatch(path) and (not colon or _TAG.fullmatch(tag))
    if not valid or ("@" in text and not _DIGEST.fullmatch(digest)):
        raise ValueError(f"{text!r} is not the name of an image")
    if digest:
        return f"{registry}/{path}{colon}{tag}@{digest}"
    return f"{registry}/{path}:{tag or 'latest'}"


def name_from_file(stem: str) -> str:
    """A name for an image that its archive gives none."""
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "image"
    return full_name(plain)


def file_name(image: str) -> str:
    """Below cache/images/<architecture>/, as upstream has it: every colon is an underscore. ValueError as for `full_name`."""
    full_name(image)
    return image.replace(":", "_")
