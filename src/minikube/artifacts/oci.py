"""OCI images written by hand: layers from files that are already here, byte for byte the same each time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"

_EPOCH: Final = "1970-01-01T00:00:00Z"
_BLOCK: Final = 1 << 20

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}

PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Entry(NamedTuple):
    """One name in a layer: a file copied from `source`, a file of `content`, a link to `target`, or else a directory."""

    path: str
    mode: int = 0o755
    source: Path | None = None
    content: bytes | None = None
    target: str | None = None


Layer = tuple[Entry, ...]


class Image(NamedTuple):
    """What one image is called, what is in it and how it is run. Equal layers of several images are stored once."""

    name: str
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = (PATH,)
    working_directory: str = "/"
    user: str = ""
    ports: tuple[str, ...] = ()


def tree_layer(directory: Path, *, prefix: str = "") -> Layer:
    """A layer with everything under a directory, links as they are."""
    entries = []
    for here, directories, files in os.walk(directory):
        for name in [*directories, *files]:
            path = Path(here, name)
            inside = str(Path(prefix) / path.relative_to(directory))
            mode = stat.S_IMODE(path.lstat().st_mode)
            if path.is_symlink():
                entries.append(Entry(inside, target=str(path.readlink())))
            else:
                entries.append(Entry(inside, mode=mode, source=None if path.is_dir() else path))
    return tuple(entries)


def write_archive(path: Path, images: Sequence[Image], *, architecture: str = "") -> None:
    """Write an OCI image layout with all images as one tar file, which `ctr images import` and others read."""
    architecture = architecture or _ARCHITECTURES.get(os.uname().machine, os.uname().machine)
    with path.open("w+b") as stream:
        archive = _Archive(stream)
        manifests = [_write_image(archive, image, architecture) for image in images]
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": manifests}
        archive.add("index.json", _json(index))
        archive.add("oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        archive.close()


def image_ids(path: Path) -> dict[str, str]:
    """The images in an archive by name, each with the digest of its config: what the CRI calls the image's id."""
    with tarfile.open(path) as archive:

        def read(name: str) -> Any:
            member = archive.extractfile(name)
            return json.load(member) if member else {}

        ids: dict[str, str] = {}
        for manifest in read("index.json")["manifests"]:
            content = read(_blob(manifest["digest"]))
            ids[manifest["annotations"]["io.containerd.image.name"]] = content["config"]["digest"]
        return ids


def _write_image(archive: _Archive, image: Image, architecture: str) -> dict[str, Any]:
    layers = [archive.add_layer(layer) for layer in image.layers]
    settings: dict[str, Any] = {
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "Env": list(image.environment),
        "WorkingDir": image.working_directory,
        "User": image.user,
        "ExposedPorts": {port: {} for port in sorted(image.ports)},
    }
    config = {
        "created": _EPOCH,
        "architecture": architecture,
        "os": "linux",
        "config": {key: value for key, value in settings.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    manifest = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": archive.add_json(_CONFIG, config), "layers": layers}
    return {
        **archive.add_json(_MANIFEST, manifest),
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": {"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": image.name.rpartition(":")[2]},
    }


class _Archive:
    """A tar file that grows at its end. A blob's name is its digest, so its header is filled in after its content."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._layers: dict[Layer, dict[str, Any]] = {}
        self._blobs: set[str] = set()

    def add(self, name: str, content: bytes) -> None:
        self._stream.write(_header(name, len(content)) + content)
        self._pad()

    def add_json(self, media_type: str, value: Mapping[str, Any]) -> dict[str, Any]:
        content = _json(value)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if digest not in self._blobs:
            self._blobs.add(digest)
            self.add(_blob(digest), content)
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def add_layer(self, layer: Layer) -> dict[str, Any]:
        if layer not in self._layers:
            start = self._stream.tell()
            self._stream.write(bytes(tarfile.BLOCKSIZE))
            hashing = _Hashing(self._stream)
            _write_layer(hashing, layer)
            digest = f"sha256:{hashing.digest.hexdigest()}"
            if digest in self._blobs:
                self._stream.truncate(start)
                self._stream.seek(start)
            else:
                self._blobs.add(digest)
                self._stream.seek(start)
                self._stream.write(_header(_blob(digest), hashing.size))
                self._stream.seek(0, os.SEEK_END)
                self._pad()
            self._layers[layer] = {"mediaType": _LAYER, "digest": digest, "size": hashing.size}
        return self._layers[layer]

    def close(self) -> None:
        self._stream.write(bytes(2 * tarfile.BLOCKSIZE))

    def _pad(self) -> None:
        self._stream.write(bytes(-self._stream.tell() % tarfile.BLOCKSIZE))


class _Hashing:
    """Passes writes on, and knows the digest and size of what went through."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.size += len(data)
        return self._stream.write(data)

    def tell(self) -> int:
        return self.size


def _write_layer(stream: _Hashing, layer: Layer) -> None:
    target = cast("BinaryIO", stream)
    with tarfile.TarFile(fileobj=target, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_BLOCK) as tar:
        for entry in _with_parents(layer):
            member = tarfile.TarInfo(entry.path)
            member.mode = entry.mode
            if entry.target is not None:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.target, 0o777
                tar.addfile(member)
            elif entry.content is not None:
                member.size = len(entry.content)
                tar.addfile(member, io.BytesIO(entry.content))
            elif entry.source is not None:
                with entry.source.open("rb") as source:
                    member.size = os.fstat(source.fileno()).st_size
                    tar.addfile(member, source)
            else:
                member.type = tarfile.DIRTYPE
                tar.addfile(member)


def _with_parents(layer: Iterable[Entry]) -> list[Entry]:
    """Sorted by path, so that every directory comes before what is in it."""
    entries = {entry.path.strip("/"): entry for entry in layer}
    for path in list(entries):
        for parent in Path(path).parents:
            if str(parent) != ".":
                entries.setdefault(str(parent), Entry(str(parent)))
    return [Entry(path, entry.mode, entry.source, entry.content, entry.target) for path, entry in sorted(entries.items())]


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.USTAR_FORMAT)


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
