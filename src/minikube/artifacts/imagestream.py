"""Images on their way into a node: an OCI archive, written as it is read, with only those layers that are wanted there."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable, Collection, Sequence

from minikube.artifacts.digests import Digest, digest_of
from minikube.artifacts.imagearchive import ArchivedImage, Piece
from minikube.artifacts.ocidocuments import INDEX

_CHUNK = 1 << 20


def write(sink: int, images: Sequence[ArchivedImage], *, without: Collection[str], moved: Callable[[int], None]) -> None:
    """Write the images into a pipe or file, leaving out the blobs of these digests. `moved` hears of every piece of a layer."""
    manifests = []
    written: set[str] = set()

    def add(data: bytes) -> Digest:
        digest = digest_of(data)
        if digest not in written:
            written.add(digest)
            _put(sink, digest.blob, data)
        return digest

    for image in images:
        add(image.config)
        digest = add(image.manifest)
        for name in image.names:
            notes = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
            manifests.append({"mediaType": image.media_type, "digest": digest, "size": len(image.manifest), "annotations": notes})
        for layer in image.layers:
            if layer.digest not in written and layer.digest not in without and layer.piece:
                written.add(layer.digest)
                _write_all(sink, _header(layer.digest.blob, layer.piece.size))
                _move(sink, layer.piece, moved)
    _put(sink, "index.json", json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}).encode())
    _put(sink, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    _write_all(sink, bytes(2 * tarfile.BLOCKSIZE))


def _move(sink: int, piece: Piece, moved: Callable[[int], None]) -> None:
    left, offset = piece.size, piece.offset
    source = os.open(piece.path, os.O_RDONLY)
    try:
        while left:
            count = os.sendfile(sink, source, offset, min(left, _CHUNK))
            if not count:
                raise EOFError(f"{piece.path} became shorter while it was read")
            left -= count
            offset += count
            moved(count)
    finally:
        os.close(source)
    _write_all(sink, bytes(-piece.size % tarfile.BLOCKSIZE))


def _put(sink: int, name: str, data: bytes) -> None:
    _write_all(sink, _header(name, len(data)) + data + bytes(-len(data) % tarfile.BLOCKSIZE))


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


def _write_all(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]
