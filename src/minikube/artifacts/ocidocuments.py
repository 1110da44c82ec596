"""Indexes, manifests and configurations of images, as registries and archives have them: read by their form, within limits."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from minikube.artifacts.digests import Digest, NotADigest

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
INDEXES = (INDEX, "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = (MANIFEST, "application/vnd.docker.distribution.manifest.v2+json")

DOCUMENT_BYTES = 4 << 20
"""No document is larger: registries take no larger manifest either."""
_LAYERS = 500  # more directories cannot be laid over each other
_ENTRIES = 1000  # of an index

Document = TypeVar("Document")
_Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]


class NotADocument(ValueError):
    """Not a document of the expected form."""


class Descriptor(NamedTuple):
    """A piece of content by its digest and size."""

    digest: Digest
    size: int


class IndexEntry(NamedTuple):
    """One manifest of several, or a further index."""

    digest: Digest
    media_type: str
    system: str
    architecture: str
    notes: dict[str, str]


class ImageManifest(NamedTuple):
    media_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]


class _Platform(msgspec.Struct):
    architecture: str = ""
    os: str = ""


class _Descriptor(msgspec.Struct):
    digest: str
    size: _Size = 0
    media_type: str | None = msgspec.field(default=None, name="mediaType")
    platform: _Platform | None = None
    annotations: dict[str, str] | None = None


class _Document(msgspec.Struct):
    """A manifest or an index: which of the two is told by what is in it, and never both."""

    media_type: str | None = msgspec.field(default=None, name="mediaType")
    manifests: list[_Descriptor] | None = None
    config: _Descriptor | None = None
    layers: list[_Descriptor] | None = None


class _RootFileSystem(msgspec.Struct):
    diff_ids: list[str] | None = None


class _Config(msgspec.Struct):
    rootfs: _RootFileSystem
    architecture: str = ""


class ImageConfig(NamedTuple):
    architecture: str
    diff_ids: tuple[Digest, ...]


def read_document(content: bytes) -> tuple[IndexEntry, ...] | ImageManifest:
    """The entries of an index, or a manifest; NotADocument for anything else."""
    found = decoded(content, _Document)
    if found.manifests is not None and found.layers is None and found.config is None:
        if len(found.manifests) > _ENTRIES:
            raise NotADocument(f"an index with {len(found.manifests)} entries is too long")
        return tuple(_entry(one) for one in found.manifests)
    if found.manifests is None and found.layers is not None and found.config is not None:
        if len(found.layers) > _LAYERS:
            raise NotADocument(f"an image with {len(found.layers)} layers cannot be unpacked")
        media_type = found.media_type if found.media_type in MANIFESTS else ""
        return ImageManifest(media_type, _described(found.config), tuple(_described(layer) for layer in found.layers))
    raise NotADocument("neither an index nor a manifest")


def read_config(content: bytes) -> ImageConfig:
    found = decoded(content, _Config)
    try:
        return ImageConfig(found.architecture, tuple(Digest(text) for text in found.rootfs.diff_ids or ()))
    except NotADigest as error:
        raise NotADocument(str(error)) from None


def decoded(content: bytes, form: type[Document]) -> Document:
    """JSON of a stranger, as this type; NotADocument if it is not."""
    if len(content) > DOCUMENT_BYTES:
        raise NotADocument(f"{len(content)} bytes of JSON are too many")
    try:
        return msgspec.json.decode(content, type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotADocument(str(error)[:200]) from None


def _described(found: _Descriptor) -> Descriptor:
    try:
        return Descriptor(Digest(found.digest), found.size)
    except NotADigest as error:
        raise NotADocument(str(error)) from None


def _entry(found: _Descriptor) -> IndexEntry:
    platform: Any = found.platform or _Platform()
    return IndexEntry(_described(found).digest, found.media_type or "", platform.os, platform.architecture, found.annotations or {})
