"""Reading a bundle once from front to back, and believing nothing that its manifest does not vouch for."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from minikube.artifacts.bundleformat import BLOBS, MANIFEST, MANIFEST_BYTES, SIGNATURE, Manifest, damaged, decode
from minikube.host.credentials import as_person
from minikube.output.reason import Reason

_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_SIGNATURE_BYTES = 1 << 20

Open = Callable[[str], BinaryIO | None]


class Bundle:
    """An open bundle whose manifest and signature are in memory; its blobs follow in the order they are stored.

    Headers are read one by one, plain files only: tarfile's own reader also follows extensions that no bundle has, at any size they name.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead: tarfile.TarInfo | None = None
        self.manifest_bytes = self._document(MANIFEST, MANIFEST_BYTES)
        self.signature = self._document(SIGNATURE, _SIGNATURE_BYTES, optional=True)

    @cached_property
    def manifest(self) -> Manifest:
        """Read when it is first asked for, so that a signature can be verified before anything in it is looked at."""
        return decode(self.manifest_bytes)

    def blobs(self, target: Open, advance: Callable[[int], object] = lambda size: None) -> Iterator[str]:
        """Write each blob to what `target` opens for its digest; then, checked, give its digest. None: nobody needs it, it is left out."""
        expected = self.manifest.blobs
        left = dict(expected)
        while member := self._member():
            digest = member.name.removeprefix(BLOBS)
            if member.name != BLOBS + digest or left.pop(digest, None) != member.size:
                raise damaged(f"{member.name[:100]!r} does not belong there")
            opened = target(digest)
            if opened is None:
                self._skip(_padded(member.size))
                continue
            with opened as file:
                self._copy(member, digest, file, advance)
            yield digest
        if left:
            raise damaged(f"it ends too early, {len(left)} of {len(expected)} files are missing")

    def _copy(self, member: tarfile.TarInfo, digest: str, file: BinaryIO, advance: Callable[[int], object]) -> None:
        seen = hashlib.sha256()
        left = member.size
        while left:
            data = self._read(min(left, _CHUNK))
            left -= len(data)
            seen.update(data)
            file.write(data)
            advance(len(data))
        self._skip(_padded(member.size) - member.size)
        if seen.hexdigest() != digest:
            raise damaged(f"{member.name} has another content than the manifest says")

    def _document(self, name: str, limit: int, *, optional: bool = False) -> bytes:
        member = self._member()
        if member is None or member.name != name or member.size > limit:
            if optional:
                self._ahead = member
                return b""
            raise damaged("it does not begin with a manifest")
        return self._read(_padded(member.size))[: member.size]

    def _member(self) -> tarfile.TarInfo | None:
        member, self._ahead = self._ahead, None
        if member is not None:
            return member
        with _explained():
            block = self._stream.read(tarfile.BLOCKSIZE)
            if not block.strip(b"\0"):
                return None
            member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if member.type != tarfile.REGTYPE or member.size < 0:
            raise damaged(f"{member.name[:100]!r} is not a plain file")
        return member

    def _read(self, size: int) -> bytes:
        with _explained():
            data = self._stream.read(size)
        if len(data) != size:
            raise damaged("it ends too early")
        return data

    def _skip(self, size: int) -> None:
        if isinstance(self._stream, io.BufferedReader):
            # May go beyond the end; the next read tells.
            self._stream.seek(size, os.SEEK_CUR)
            return
        while size:
            size -= len(self._read(min(size, _CHUNK)))


@contextlib.contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """The bundle, for as long as it is read. Whether it is compressed shows in its first bytes."""
    try:
        with as_person():
            file = path.open("rb")
    except OSError as error:
        raise Reason("HOST_PATH_MISSING", f"the bundle {path} cannot be read: {error.strerror}") from None
    with file:
        with _explained():
            compressed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
        if compressed:
            with gzip.GzipFile(fileobj=file, mode="rb") as stream:
                yield Bundle(cast("BinaryIO", stream))
        else:
            yield Bundle(file)


def _padded(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise damaged(str(error)) from None
    except OSError as error:
        raise Reason("HOST_PATH_STAT", f"the bundle cannot be read: {error.strerror or error}") from None
