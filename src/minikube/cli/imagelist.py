"""Images of a cluster as lines, a table, JSON or YAML, in upstream's forms."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minikube.cli.table import boxed
from minikube.runtimes.images import StoredImage

_ID_LENGTH = 13


def rendered(images: Sequence[StoredImage], form: str) -> str:
    if form == "json":
        return json.dumps([_record(image) for image in images], separators=(",", ":"))
    if form == "yaml":
        import yaml

        return str(yaml.safe_dump([_record(image) for image in images], sort_keys=False)).rstrip("\n") if images else "[]"
    if form == "table":
        return boxed(["IMAGE", "TAG", "IMAGE ID", "SIZE"], sorted(row for image in images for row in _rows(image))).rstrip("\n")
    return "\n".join(sorted((tag for image in images for tag in image.tags), reverse=True))


def human_size(size: float) -> str:
    """Three digits and a decimal unit, as docker shows sizes: `54.6MB`."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g}{unit}"


def _record(image: StoredImage) -> dict[str, object]:
    return {"id": image.id, "repoDigests": list(image.digests), "repoTags": list(image.tags), "size": str(image.size)}


def _rows(image: StoredImage) -> list[list[str]]:
    rows = []
    for tag in image.tags or ("<none>:<none>",):
        name, _, version = tag.rpartition(":")
        rows.append([name, version, image.id[:_ID_LENGTH], human_size(image.size)])
    return rows
