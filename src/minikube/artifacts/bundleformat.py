"""What a bundle is: a tar file with a manifest first, its signature if there is one, and then every file once, named by its digest.

The manifest lists entries of the store with all their files, so whoever trusts the manifest can check every byte that follows. Nothing
in it depends on when or where it was written: the same store gives the same bundle.
"""

from __future__ import annotations

import re
import stat
from typing import Literal

import msgspec

from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.versionrecords import is_record
from minikube.output.reason import Reason

FORMAT = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.sig"
BLOBS = "blobs/sha256/"
NAMESPACE = "minikube-bundle"
"""What a signature is for: one made for something else does not count."""
IMAGE_FILE = "image.tar"
MANIFEST_BYTES = 16 << 20
"""No manifest is larger; nothing of a hostile file is read into memory beyond this."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"v\d{1,4}\.\d{1,4}\.\d{1,4}(-[0-9a-z.-]{1,40})?", re.ASCII)
_NAME = re.compile(r"[a-z0-9][A-Za-z0-9._-]{0,100}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:/_-]{0,200}")
_LATEST = 1 << 62  # nanoseconds: the year 2116, and a number that every system call takes


class File(msgspec.Struct, frozen=True, array_like=True):
    """One path of an entry. Paths with one `inode` are one file on disk (hard links), within and across entries."""

    kind: Literal["file", "directory", "link"]
    mode: int
    modified: int
    """Nanoseconds."""
    content: str = ""
    """Digest of a file, target of a link."""
    size: int = 0
    inode: int = 0


class Entry(msgspec.Struct, frozen=True):
    """An entry of the store, as its seal has it."""

    name: str
    digest: str
    """Of the recipe: what the entry is made from, so any machine that wants the same finds it."""
    identity: str
    what: str
    files: dict[str, File]

    @property
    def size(self) -> int:
        return sum(size for _, size in {(file.inode, file.size) for file in self.files.values() if file.kind == "file"})


class Image(msgspec.Struct, frozen=True):
    """An archive with images of the user's, which is an entry of its own."""

    names: list[str]
    entry: str
    digest: str


class Manifest(msgspec.Struct, frozen=True):
    """The whole bundle in one document."""

    format: int
    minikube: str
    architecture: str
    kubernetes: list[str]
    entries: list[Entry]
    images: list[Image] = []
    repository: str = ""
    """Where the cluster's images are called after, if not the public registry."""
    records: dict[str, str] = {}
    """What was found out about versions without pins (versionrecords.py)."""

    @property
    def blobs(self) -> dict[str, int]:
        """Digest and size of every file's content, in the order they are in the bundle."""
        return {
            file.content: file.size for entry in self.entries for _, file in sorted(entry.files.items()) if file.kind == "file"
        }  # an entry is complete as early as can be


def encode(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest, order="sorted")


def decode(data: bytes) -> Manifest:
    """The manifest, or the reason why this is none that can be used here. Nothing in it is trusted before this."""
    try:
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get("format")
        if version is not None and bytes(version) != str(FORMAT).encode():
            raise Reason(
                "HOST_BUNDLE_UNSUPPORTED",
                f"the bundle has format {bytes(version).decode(errors='replace')[:20]}; this minikube reads format {FORMAT}",
                advice="Use the version of minikube that made the bundle, or make a new one with this version.",
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise damaged(f"its manifest cannot be read: {error}") from None
    if wrong := [version for version in manifest.kubernetes if not _VERSION.fullmatch(version)]:
        raise damaged(f"{wrong[0]!r} is not a version of Kubernetes")
    if foreign := [name for name, text in manifest.records.items() if not is_record(name, text)]:
        raise damaged(f"{foreign[0][:200]!r} is no record of a version")
    if manifest.repository and not _REPOSITORY.fullmatch(manifest.repository):
        raise damaged(f"{manifest.repository[:200]!r} is not a registry")
    for entry in manifest.entries:
        _check_entry(entry)
    _check_inodes(manifest)
    known = {(entry.name, entry.digest): entry for entry in manifest.entries}
    for image in manifest.images:
        holder = known.get((image.entry, image.digest))
        if holder is None or IMAGE_FILE not in holder.files or holder.files[IMAGE_FILE].kind != "file":
            raise damaged(f"it has no image {image.entry[:200]!r}")
    return manifest


def refuse_foreign(manifest: Manifest) -> None:
    """A bundle of another architecture has nothing that runs here."""
    if manifest.architecture != goarch():
        raise Reason(
            "HOST_BUNDLE_UNSUPPORTED",
            f"the bundle is for {manifest.architecture}, and this machine is {goarch()}",
            advice="Make one on a machine of the same architecture as this one: minikube bundle create",
        )


def damaged(what: str) -> Reason:
    return Reason(
        "HOST_BUNDLE_DAMAGED",
        f"the bundle is damaged or not a bundle: {what}",
        advice="Copy it again from where it was made, or make it anew.",
    )


def _check_entry(entry: Entry) -> None:
    if not _NAME.fullmatch(entry.name) or not _DIGEST.fullmatch(entry.digest):
        raise damaged(f"an entry may not be called {entry.name!r}")
    for path, file in entry.files.items():
        where = f"{entry.name}/{path}"
        parts = path.split("/")
        if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise damaged(f"{where!r} leads out of its entry")
        # Every directory on the way is a directory of the entry: nothing is ever written through a link.
        above = "/".join(parts[:-1])
        if above and (above not in entry.files or entry.files[above].kind != "directory"):
            raise damaged(f"{where!r} is not in a directory of its entry")
        if file.mode & ~0o7777 or (file.kind == "file" and file.mode & (stat.S_ISUID | stat.S_ISGID)):
            raise damaged(f"{where!r} has permissions that no component has")
        if file.mode & stat.S_IWOTH and not (file.kind == "directory" and file.mode & stat.S_ISVTX) and file.kind != "link":
            raise damaged(f"{where!r} could be changed by anybody")
        if not 0 <= file.modified < _LATEST:
            raise damaged(f"{where!r} has a time that no file has")
        if file.kind == "file" and (not _DIGEST.fullmatch(file.content) or file.size < 0):
            raise damaged(f"{where!r} has no digest")
        if file.kind == "link" and (not file.content or "\0" in file.content):
            raise damaged(f"{where!r} leads nowhere")


def _check_inodes(manifest: Manifest) -> None:
    seen: dict[int, File] = {}
    sizes: dict[str, int] = {}
    for entry in manifest.entries:
        for path, file in entry.files.items():
            if file.kind == "file" and (
                seen.setdefault(file.inode, file) != file or sizes.setdefault(file.content, file.size) != file.size
            ):
                raise damaged(f"{entry.name}/{path} is described in two ways")
