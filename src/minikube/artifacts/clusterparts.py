"""What a cluster of a version set is made of, whichever source it came from: its programs, and its images with their digests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from minikube.artifacts.assembly import component_recipes, node_image_recipe
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.digests import Digest, NotADigest
from minikube.artifacts.endpoints import image_names
from minikube.artifacts.origin import Origin
from minikube.artifacts.release import PROVISIONER_IMAGE, Releases
from minikube.artifacts.sources import RELEASE
from minikube.artifacts.store import Recipe, Store

# Made of other entries: the same programs again, in other places.
_ASSEMBLED = ("node-binaries", "images-", "seed-", "release-node-binaries", "release-images-", "release-seed-", "release-image-")
_MANIFESTS = "io.containerd.content.v1.content/blobs/sha256"
_LARGEST = 1 << 20  # bytes of a manifest; layers are not kept


class ImagePart(NamedTuple):
    """One image; `component` is what runs in it."""

    component: str
    name: str
    digest: str


class Parts(NamedTuple):
    """Recipes of programs and of the node image; of the images unpacked for a node; and of images as registries have them, if they did."""

    programs: tuple[Recipe, ...]
    images: Recipe
    pulled: tuple[Recipe, ...]
    names: dict[str, str]
    """Of images, by component."""

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        return (*self.programs, self.images, *self.pulled)


def parts_of(versions: VersionSet, source: str, origin: Origin, store: Store) -> Parts:
    """Everything of a cluster from this source; all of it may be missing in the store."""
    names = {**image_names(versions, origin.image_repository), "storage-provisioner": PROVISIONER_IMAGE}
    if source != RELEASE:
        recipes = tuple(component_recipes(versions, store, repository=origin.image_repository))
        images = next(recipe for recipe in recipes if recipe.name.startswith("images-"))
    else:
        made = Releases(versions, store, origin, node_image_recipe()).recipes
        images = made.prepared_store
        recipes = tuple(dict.fromkeys((*made.node_binaries.needs, *images.needs)))
    programs = tuple(recipe for recipe in recipes if not recipe.name.startswith(_ASSEMBLED))
    return Parts(programs, images, tuple(recipe for recipe in images.needs if recipe.name.startswith("release-image-")), names)


def image_parts(parts: Parts, store: Store) -> list[ImagePart]:
    """The images of a cluster whose parts are all in the store."""
    pulled = [_pulled(store.path(recipe), parts.names) for recipe in parts.pulled]
    known = {part.component for part in pulled}
    ours = [part for part in _unpacked(store.path(parts.images), parts.names) if part.component not in known]
    return sorted((*pulled, *ours), key=lambda part: part.name)


def _pulled(layout: Path, names: dict[str, str]) -> ImagePart:
    (manifest,) = json.loads((layout / "index.json").read_bytes())["manifests"]
    name = str(manifest["annotations"]["io.containerd.image.name"])
    return ImagePart(next(component for component, one in names.items() if one == name), name, str(manifest["digest"]))


def _unpacked(prepared: Path, names: dict[str, str]) -> list[ImagePart]:
    """In a containerd store, where images made here say themselves which they are: by the program they start."""
    found = []
    blobs = prepared / _MANIFESTS
    for blob in sorted(blobs.iterdir()):
        manifest = _json(blob)
        if "layers" not in manifest:
            continue
        try:
            config = _json(blobs / Digest(manifest["config"]["digest"]).hexadecimal).get("config", {})
            started = [str(word) for word in (*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ()))]
        except (NotADigest, KeyError, TypeError, AttributeError):
            continue
        component = next((name for name in names if any(Path(word).name == name for word in started)), "")
        if component:
            found.append(ImagePart(component, names[component], f"sha256:{blob.name}"))
    return found


def _json(blob: Path) -> dict[str, Any]:
    if not blob.is_file() or blob.stat().st_size > _LARGEST:
        return {}
    try:
        content = json.loads(blob.read_bytes())
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
