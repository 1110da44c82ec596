"""Images in files: what `docker save`, `podman save` and OCI layouts hold, without reading the layers themselves."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from minikube.artifacts.digests import Digest, digest_of
from minikube.artifacts.imagenames import full_name, name_from_file
from minikube.artifacts.ocidocuments import (
    CONFIG,
    DOCUMENT_BYTES,
    LAYER,
    MANIFEST,
    ImageManifest,
    IndexEntry,
    NotADocument,
    decoded,
    read_config,
    read_document,
)
from minikube.artifacts.tarreading import CANNOT_DECOMPRESS, PIECE, BadArchive, decompressed, members

_NAME_NOTE = "io.containerd.image.name"
_REFERENCE_NOTE = "org.opencontainers.image.ref.name"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LINKS = 8  # that lead from one to another
_DEPTH = 3  # indexes that lead from one to another
_ALL_DOCUMENTS = 64 << 20  # bytes of JSON in one archive
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# A compressed archive may become fifty times as large: layers shrink to a third, and only a bomb to a thousandth.
_GROWTH, _GROWTH_ANYWAY = 50, 256 << 20


class NotAnImage(ValueError):
    """The file or directory does not hold images, or not all of what they need."""


class Piece(NamedTuple):
    """Bytes of a file on this machine."""

    path: str
    offset: int
    size: int

    def read(self) -> bytes:
        if self.size > DOCUMENT_BYTES:
            raise NotAnImage(f"{self.size} bytes of JSON are too many")
        with open(self.path, "rb") as stream:  # noqa: PTH123
            stream.seek(self.offset)
            return stream.read(self.size)


class Layer(NamedTuple):
    """One layer: the digest of its blob, the digest of what that unpacks to, and where it is; None if the archive leaves it out."""

    digest: Digest
    diff_id: Digest
    size: int
    piece: Piece | None


class ArchivedImage(NamedTuple):
    names: tuple[str, ...]
    manifest: bytes
    media_type: str
    config: bytes
    layers: tuple[Layer, ...]

    @property
    def id(self) -> Digest:
        return digest_of(self.config)

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)


class _DockerEntry(msgspec.Struct):
    """One image in the manifest.json of `docker save`: names of files in the archive."""

    config: str = msgspec.field(name="Config")
    layers: list[str] = msgspec.field(name="Layers")
    tags: list[str] | None = msgspec.field(default=None, name="RepoTags")


def machine_architecture() -> str:
    return _ARCHITECTURES.get(os.uname().machine, os.uname().machine)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[list[ArchivedImage]]:
    """The images in an archive or OCI directory. A compressed archive is unpacked beside other temporary files meanwhile."""
    with contextlib.ExitStack() as stack:
        if path.is_dir():
            find = _in_directory(path)
        else:
            plain = _decompressed(path, stack)
            find = _in_tar(plain)
        try:
            images = _images(_Documents(find), stem=path.name.partition(".")[0])
        except NotADocument as error:
            raise NotAnImage(f"{path} cannot be understood: {error}") from error
        yield images


Find = Callable[[str], Piece | None]


def _in_directory(directory: Path) -> Find:
    inside = directory.resolve()

    def find(name: str) -> Piece | None:
        try:
            place = (inside / name).resolve()
            return Piece(str(place), 0, place.stat().st_size) if place.is_relative_to(inside) and place.is_file() else None
        except (OSError, RuntimeError, ValueError):  # links in a circle, names that no file can have
            return None

    return find


def _in_tar(path: Path) -> Find:
    pieces: dict[str, Piece] = {}
    links: dict[str, str] = {}
    whole = path.stat().st_size
    try:
        with path.open("rb") as stream:
            for member, _archive in members(stream, most=whole):
                name = os.path.normpath(member.name)
                if member.isreg():
                    if member.offset_data + member.size > whole:
                        raise NotAnImage(f"{path} ends in the middle of {name[:100]!r}")
                    pieces[name] = Piece(str(path), member.offset_data, member.size)
                elif member.issym():
                    links[name] = os.path.normpath(os.path.join(os.path.dirname(name), member.linkname))  # noqa: PTH118, PTH120
                elif member.islnk():
                    links[name] = os.path.normpath(member.linkname)
    except BadArchive as error:
        raise NotAnImage(f"{path} is not an archive of images: {error}") from error

    def find(name: str) -> Piece | None:
        name = os.path.normpath(name)
        for _ in range(_LINKS):
            if name in pieces or name not in links:
                break
            name = links[name]
        return pieces.get(name)

    return find


def _decompressed(path: Path, stack: contextlib.ExitStack) -> Path:
    with path.open("rb") as packed:
        if packed.read(4) == _ZSTD:
            raise NotAnImage(f"{path} is compressed with zstd: unpack it first (zstd -d)")
        packed.seek(0)
        stream = decompressed(packed)
        if stream is None:
            return path
        plain = stack.enter_context(tempfile.NamedTemporaryFile(prefix="minikube-image-"))  # noqa: SIM115 - the stack closes it
        most = left = path.stat().st_size * _GROWTH + _GROWTH_ANYWAY
        try:
            while data := stream.read(1 << 20):
                left -= len(data)
                if left < 0:
                    raise NotAnImage(f"{path} is not unpacked: it would become larger than {most} bytes, as no image does")
                plain.write(data)
        except CANNOT_DECOMPRESS as error:
            raise NotAnImage(f"{path} cannot be unpacked: {error}") from error
    plain.flush()
    return Path(plain.name)


class _Documents:
    """The JSON of an archive, each document checked against its digest, and not without end."""

    def __init__(self, find: Find) -> None:
        self.find = find
        self._left = _ALL_DOCUMENTS

    def read(self, piece: Piece) -> bytes:
        self._left -= piece.size
        if self._left < 0:
            raise NotAnImage(f"it has more than {_ALL_DOCUMENTS} bytes of JSON")
        return piece.read()

    def blob(self, digest: Digest) -> bytes | None:
        piece = self.find(digest.blob)
        content = self.read(piece) if piece else None
        if content is not None and not digest.fits(content):
            raise NotAnImage(f"{digest} has another content than its name says")
        return content


def _images(documents: _Documents, *, stem: str) -> list[ArchivedImage]:
    index, docker = documents.find("index.json"), documents.find("manifest.json")
    tags: dict[Digest, list[str]] = {}
    entries = decoded(documents.read(docker), list[_DockerEntry]) if docker else []
    for entry in entries if index else ():
        config = documents.find(entry.config)
        if config:
            tags.setdefault(digest_of(documents.read(config)), []).extend(entry.tags or [])
    found = list(_of_layout(documents, index, tags, stem)) if index else [_of_docker(documents, entry, stem) for entry in entries]
    if not found:
        raise NotAnImage(f"there is no image for linux/{machine_architecture()} in it")
    return found


def _of_layout(documents: _Documents, index: Piece, tags: Mapping[Digest, list[str]], stem: str) -> Iterator[ArchivedImage]:
    content = read_document(documents.read(index))
    if isinstance(content, ImageManifest):
        raise NotAnImage("its index.json is not an index")
    known: dict[Digest, _Described | None] = {}
    images: dict[Digest, ArchivedImage] = {}
    for entry in content:
        described = _for_this_machine(documents, entry, known)
        if described is None:
            continue
        image = images.get(described.digest) or _image(documents, described)
        names = [*image.names, *_names(entry, stem), *(full_name(tag) for tag in tags.get(image.id, []))]
        # One image with several names is listed several times.
        images[described.digest] = image._replace(names=tuple(dict.fromkeys(names)))
    for image in images.values():
        yield image if image.names else image._replace(names=(name_from_file(stem),))


class _Described(NamedTuple):
    digest: Digest
    body: bytes
    manifest: ImageManifest


def _image(documents: _Documents, described: _Described) -> ArchivedImage:
    manifest = described.manifest
    settings = documents.blob(manifest.config.digest)
    if settings is None:
        raise NotAnImage("the configuration of an image is missing")
    layers = []
    for layer, diff_id in zip(manifest.layers, _diff_ids(settings, manifest.layers), strict=True):
        piece = documents.find(layer.digest.blob)
        if piece and piece.size != layer.size:
            raise NotAnImage(f"{layer.digest} has {piece.size} bytes, and should have {layer.size}")
        layers.append(Layer(layer.digest, diff_id, layer.size, piece))
    return ArchivedImage((), described.body, manifest.media_type or MANIFEST, settings, tuple(layers))


def _diff_ids(settings: bytes, layers: Sequence[object]) -> tuple[Digest, ...]:
    diff_ids = read_config(settings).diff_ids
    if len(diff_ids) != len(layers):
        raise NotAnImage("an image has not as many layers as its configuration says")
    return diff_ids


def _for_this_machine(
    documents: _Documents, entry: IndexEntry, known: dict[Digest, _Described | None], depth: int = 0
) -> _Described | None:
    """The manifest behind an entry of an index: itself, or the one for this machine if it leads to several."""
    if entry.digest in known or depth > _DEPTH:
        return known.get(entry.digest)
    known[entry.digest] = None
    body = documents.blob(entry.digest)
    if body is None:
        return None
    content = read_document(body)
    if isinstance(content, ImageManifest):
        known[entry.digest] = _Described(entry.digest, body, content)
        return known[entry.digest]
    here = (child for child in content if child.architecture in ("", machine_architecture()) and child.system in ("", "linux"))
    found = (_for_this_machine(documents, child, known, depth + 1) for child in here)
    known[entry.digest] = next((one for one in found if one), None)
    return known[entry.digest]


def _names(entry: IndexEntry, stem: str) -> list[str]:
    if entry.notes.get(_NAME_NOTE):
        return [full_name(entry.notes[_NAME_NOTE])]
    reference = entry.notes.get(_REFERENCE_NOTE, "")
    if not reference:
        return []
    # podman writes the whole name there, others the tag alone.
    if "/" in reference or ":" in reference:
        return [full_name(reference)]
    return [full_name(name_from_file(stem).rpartition(":")[0] + f":{reference}")]


def _of_docker(documents: _Documents, entry: _DockerEntry, stem: str) -> ArchivedImage:
    config = documents.find(entry.config)
    if config is None:
        raise NotAnImage(f"{entry.config[:100]} is missing")
    settings = documents.read(config)
    layers, descriptors = [], []
    for name, diff_id in zip(entry.layers, _diff_ids(settings, entry.layers), strict=True):
        piece = documents.find(name)
        if piece is None:
            raise NotAnImage(f"{name[:100]} is missing")
        digest, ending = _layer_identity(piece, diff_id)
        layers.append(Layer(digest, diff_id, piece.size, piece))
        descriptors.append({"mediaType": LAYER + ending, "digest": digest, "size": piece.size})
    described = {"mediaType": CONFIG, "digest": digest_of(settings), "size": len(settings)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": descriptors}).encode()
    read_document(manifest)  # as many layers as an image may have
    names = tuple(full_name(tag) for tag in entry.tags or ()) or (name_from_file(stem),)
    return ArchivedImage(names, manifest, MANIFEST, settings, tuple(layers))


def _layer_identity(piece: Piece, diff_id: Digest) -> tuple[Digest, str]:
    """A layer that is not compressed is what it unpacks to, so its digest is known; any other has to be read."""
    with open(piece.path, "rb") as stream:  # noqa: PTH123
        stream.seek(piece.offset)
        start = stream.read(min(4, piece.size))
        ending = "+gzip" if start.startswith(_GZIP) else "+zstd" if start.startswith(_ZSTD) else ""
        if not ending:
            return diff_id, ""
        whole, left = hashlib.sha256(start), piece.size - len(start)
        while left and (data := stream.read(min(PIECE, left))):
            whole.update(data)
            left -= len(data)
    return Digest(f"sha256:{whole.hexdigest()}"), ending
