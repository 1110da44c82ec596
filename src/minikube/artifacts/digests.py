"""Digests of content. What a registry, mirror, archive or node calls a digest is a stranger's text until its form has been checked."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Self

_FORM = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")


class NotADigest(ValueError):
    """Neither `sha256:` and 64 hexadecimal digits nor `sha512:` and 128."""


class Digest(str):
    """A digest whose form has been checked. Paths and names of files are made from this type only, never from plain text."""

    __slots__ = ()

    def __new__(cls, text: object) -> Self:
        if not isinstance(text, str) or not _FORM.fullmatch(text):
            raise NotADigest(f"{str(text)[:100]!r} is not a digest")
        return super().__new__(cls, text)

    @property
    def algorithm(self) -> str:
        return self.partition(":")[0]

    @property
    def hexadecimal(self) -> str:
        return self.partition(":")[2]

    @property
    def blob(self) -> str:
        """Where an OCI layout keeps the content."""
        return f"blobs/{self.algorithm}/{self.hexadecimal}"

    @property
    def file_name(self) -> str:
        return f"{self.algorithm}-{self.hexadecimal}"

    def fits(self, content: bytes) -> bool:
        return hashlib.new(self.algorithm, content).hexdigest() == self.hexadecimal

    def of_file(self, path: Path) -> Digest:
        """The digest that a file really has, by the same algorithm."""
        with path.open("rb") as stream:
            return Digest(f"{self.algorithm}:{hashlib.file_digest(stream, self.algorithm).hexdigest()}")


def digest_of(content: bytes) -> Digest:
    return Digest(f"sha256:{hashlib.sha256(content).hexdigest()}")
