"""Images in files: what `docker save`, `podman save` and OCI layouts hold, without reading the layers themselves."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from minikube.artifacts.imagenames import full_name, name_from_file

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"

_NAME_NOTE = "io.containerd.image.name"
_REFERENCE_NOTE = "org.opencontainers.image.ref.name"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_JSON_LIMIT = 16 << 20  # containerd reads no larger manifest either
_LINKS = 8  # that lead from one to another
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"


class NotAnImage(Exception):
    """The file or directory does not hold images, or not all of what they need."""


class Piece(NamedTuple):
    """Bytes of a file on this machine."""

    path: str
    offset: int
    size: int

    def read(self) -> bytes:
        if self.size > _JSON_LIMIT:
            raise NotAnImage(f"{self.size} bytes of JSON are too many")
        with open(self.path, "rb") as stream:  # noqa: PTH123
            stream.seek(self.offset)
            return stream.read(self.size)


class Layer(NamedTuple):
    """One layer: the digest of its blob, the digest of what that unpacks to, and where it is; None if the archive leaves it out."""

    digest: str
    diff_id: str
    size: int
    piece: Piece | None


class ArchivedImage(NamedTuple):
    names: tuple[str, ...]
    manifest: bytes
    media_type: str
    config: bytes
    layers: tuple[Layer, ...]

    @property
    def id(self) -> str:
        return digest_of(self.config)

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


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
            yield _images(find, stem=path.name.partition(".")[0])
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise NotAnImage(f"{path} cannot be understood: {error!r}") from error


Find = Callable[[str], Piece | None]


def _in_directory(directory: Path) -> Find:
    def find(name: str) -> Piece | None:
        place = directory / name
        return Piece(str(place), 0, place.stat().st_size) if place.is_file() else None

    return find


def _in_tar(path: Path) -> Find:
    pieces: dict[str, Piece] = {}
    links: dict[str, str] = {}
    whole = path.stat().st_size
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                name = os.path.normpath(member.name)
                if member.isreg():
                    if member.offset_data + member.size > whole:
                        raise NotAnImage(f"{path} ends in the middle of {name}")
                    pieces[name] = Piece(str(path), member.offset_data, member.size)
                elif member.issym():
                    links[name] = os.path.normpath(os.path.join(os.path.dirname(name), member.linkname))  # noqa: PTH118, PTH120
                elif member.islnk():
                    links[name] = os.path.normpath(member.linkname)
    except tarfile.TarError as error:
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
    with path.open("rb") as stream:
        start = stream.read(8)
    opener: Callable[[Path], IO[bytes]]
    if start.startswith(_GZIP):
        opener = gzip.open  # type: ignore[assignment]
    elif start.startswith(_BZIP2):
        opener = bz2.open
    elif start.startswith(_XZ):
        opener = lzma.open
    elif start.startswith(_ZSTD):
        raise NotAnImage(f"{path} is compressed with zstd: unpack it first (zstd -d)")
    else:
        return path
    plain = stack.enter_context(tempfile.NamedTemporaryFile(prefix="minikube-image-"))  # noqa: SIM115 - the stack closes it
    try:
        with opener(path) as stream:
            shutil.copyfileobj(stream, plain, 1 << 20)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise NotAnImage(f"{path} cannot be unpacked: {error}") from error
    plain.flush()
    return Path(plain.name)


def _images(find: Find, *, stem: str) -> list[ArchivedImage]:
    index, docker = find("index.json"), find("manifest.json")
    tags: dict[str, list[str]] = {}
    entries = json.loads(docker.read()) if docker else []
    for entry in entries:
        config = find(entry["Config"])
        if config:
            tags.setdefault(digest_of(config.read()), []).extend(entry.get("RepoTags") or [])
    found = list(_of_layout(find, json.loads(index.read()), tags, stem)) if index else [_of_docker(find, entry, stem) for entry in entries]
    if not found:
        raise NotAnImage(f"there is no image for linux/{machine_architecture()} in it")
    return found


def _of_layout(find: Find, index: Mapping[str, Any], tags: Mapping[str, list[str]], stem: str) -> Iterator[ArchivedImage]:
    images: dict[str, ArchivedImage] = {}
    for descriptor in index["manifests"]:
        chosen = _for_this_machine(find, descriptor)
        if chosen is None:
            continue
        piece, media_type = chosen
        manifest = piece.read()
        content = json.loads(manifest)
        config = _blob(find, content["config"]["digest"])
        if config is None:
            raise NotAnImage("the configuration of an image is missing")
        settings = config.read()
        diff_ids = json.loads(settings)["rootfs"]["diff_ids"]
        if len(diff_ids) != len(content["layers"]):
            raise NotAnImage("an image has not as many layers as its configuration says")
        layers = tuple(
            Layer(_checked(layer["digest"]), _checked(diff_id), int(layer["size"]), _blob(find, layer["digest"]))
            for layer, diff_id in zip(content["layers"], diff_ids, strict=True)
        )
        names = [*_names(descriptor, stem), *(full_name(tag) for tag in tags.get(digest_of(settings), []))]
        # One image with several names is listed several times.
        before = images.get(digest_of(manifest))
        names = list(dict.fromkeys([*(before.names if before else ()), *names]))
        images[digest_of(manifest)] = ArchivedImage(tuple(names), manifest, media_type, settings, layers)
    for image in images.values():
        yield image if image.names else image._replace(names=(name_from_file(stem),))


def _for_this_machine(find: Find, descriptor: Mapping[str, Any], depth: int = 0) -> tuple[Piece, str] | None:
    """The manifest behind an entry of an index: itself, or the one for this machine if it leads to several."""
    piece = _blob(find, descriptor["digest"])
    if piece is None or depth > _LINKS:
        return None
    content = json.loads(piece.read())
    if "manifests" not in content:
        return (piece, content.get("mediaType") or descriptor.get("mediaType") or MANIFEST) if "layers" in content else None
    for child in content["manifests"]:
        platform = child.get("platform") or {}
        if platform.get("architecture", machine_architecture()) == machine_architecture() and platform.get("os", "linux") == "linux":
            chosen = _for_this_machine(find, child, depth + 1)
            if chosen:
                return chosen
    return None


def _names(descriptor: Mapping[str, Any], stem: str) -> list[str]:
    notes = descriptor.get("annotations") or {}
    if notes.get(_NAME_NOTE):
        return [full_name(notes[_NAME_NOTE])]
    reference = notes.get(_REFERENCE_NOTE, "")
    if not reference:
        return []
    # podman writes the whole name there, others the tag alone.
    if "/" in reference or ":" in reference:
        return [full_name(reference)]
    return [name_from_file(stem).rpartition(":")[0] + f":{reference}"]


def _of_docker(find: Find, entry: Mapping[str, Any], stem: str) -> ArchivedImage:
    config = find(entry["Config"])
    if config is None:
        raise NotAnImage(f"{entry['Config']} is missing")
    settings = config.read()
    diff_ids = json.loads(settings)["rootfs"]["diff_ids"]
    if len(diff_ids) != len(entry["Layers"]):
        raise NotAnImage("an image has not as many layers as its configuration says")
    layers, descriptors = [], []
    for name, diff_id in zip(entry["Layers"], diff_ids, strict=True):
        piece = find(name)
        if piece is None:
            raise NotAnImage(f"{name} is missing")
        digest, ending = _layer_identity(piece, _checked(diff_id))
        layers.append(Layer(digest, diff_id, piece.size, piece))
        descriptors.append({"mediaType": LAYER + ending, "digest": digest, "size": piece.size})
    described = {"mediaType": CONFIG, "digest": digest_of(settings), "size": len(settings)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": descriptors}).encode()
    names = tuple(full_name(tag) for tag in entry.get("RepoTags") or ()) or (name_from_file(stem),)
    return ArchivedImage(names, manifest, MANIFEST, settings, tuple(layers))


def _layer_identity(piece: Piece, diff_id: str) -> tuple[str, str]:
    """A layer that is not compressed is what it unpacks to, so its digest is known; any other has to be read."""
    with open(piece.path, "rb") as stream:  # noqa: PTH123
        stream.seek(piece.offset)
        start = stream.read(min(4, piece.size))
        ending = "+gzip" if start.startswith(_GZIP) else "+zstd" if start.startswith(_ZSTD) else ""
        if not ending:
            return diff_id, ""
        whole, left = hashlib.sha256(start), piece.size - len(start)
        while left and (data := stream.read(min(1 << 20, left))):
            whole.update(data)
            left -= len(data)
    return f"sha256:{whole.hexdigest()}", ending


def _blob(find: Find, digest: str) -> Piece | None:
    return find(f"blobs/{_checked(digest).replace(':', '/')}")


def _checked(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise NotAnImage(f"{digest!r} is not a digest")
    return digest
