"""What images are called: the full name behind a short one, and the file a cached image is kept in."""

from __future__ import annotations

import re

from minikube.artifacts.imagereference import taken_apart


def full_name(text: str) -> str:
    """`busybox` is docker.io/library/busybox:latest; ValueError for what cannot be the name of an image."""
    return str(taken_apart(text))


def name_from_file(stem: str) -> str:
    """A name for an image that its archive gives none."""
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "image"
    return full_name(plain)


def file_name(image: str) -> str:
    """Below cache/images/<architecture>/, as upstream has it: every colon is an underscore. ValueError as for `full_name`."""
    full_name(image)
    return image.replace(":", "_")
