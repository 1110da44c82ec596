"""Tar files of strangers: their headers, one after the other, within limits. Nothing is unpacked here."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

_MOST_MEMBERS = 100_000
PIECE = 64 << 10
"""Bytes that are read at once: no extended header (long names, times) is longer either."""
_COMPRESSED: dict[bytes, Callable[[BinaryIO], IO[bytes]]] = {
    b"\x1f\x8b": cast("Callable[[BinaryIO], IO[bytes]]", gzip.open),
    b"BZh": cast("Callable[[BinaryIO], IO[bytes]]", bz2.open),
    b"\xfd7zXZ": cast("Callable[[BinaryIO], IO[bytes]]", lzma.open),
}
CANNOT_DECOMPRESS = (OSError, EOFError, lzma.LZMAError, zlib.error)


class BadArchive(ValueError):
    """The archive is damaged, or made to do damage."""


def decompressed(stream: BinaryIO) -> BinaryIO | None:
    """The stream behind a compressed one; None if it is not compressed."""
    start = stream.read(8)
    stream.seek(0)
    opener = next((opener for magic, opener in _COMPRESSED.items() if start.startswith(magic)), None)
    return cast("BinaryIO", opener(stream)) if opener else None


def members(stream: BinaryIO, *, most: int) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Every member, with the archive to read it from in pieces of `PIECE`; `most` is how many bytes there may be in all.

    BadArchive for what no archive of images or programs has.
    """
    try:
        with tarfile.open(fileobj=cast("BinaryIO", _Bounded(stream, most)), mode="r:") as archive:
            for number, member in enumerate(archive):
                if number >= _MOST_MEMBERS:
                    raise BadArchive(f"it has more than {_MOST_MEMBERS} members")
                if member.size < 0 or member.issparse():
                    raise BadArchive(f"{member.name[:100]!r} has a size that no file has")
                yield member, archive
    except BadArchive:
        raise
    # tarfile reads numbers in extended headers without checking what else may be there.
    except (tarfile.TarError, RecursionError, OverflowError, ValueError, LookupError, *CANNOT_DECOMPRESS) as error:
        raise BadArchive(str(error)[:200]) from error


def take_out(member: tarfile.TarInfo, archive: tarfile.TarFile, target: Path) -> None:
    """Write a member's content to a file; BadArchive if it is not a plain file, or not all there."""
    try:
        content = archive.extractfile(member) if member.isreg() else None
        if content is None:
            raise BadArchive(f"{member.name[:100]!r} is not a plain file")
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file, PIECE)
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise BadArchive(str(error)[:200]) from error


class _Bounded:
    """tarfile reads extended headers of any size they name, in one piece."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most = stream, most
        self.tell, self.close = stream.tell, stream.close

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= PIECE:
            raise BadArchive(f"it has a header of {size} bytes")
        return self._stream.read(size)

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_SET and not 0 <= position <= self._most:
            raise BadArchive("it ends in the middle of a file, or is far too large")
        return self._stream.seek(position, whence)
