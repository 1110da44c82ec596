"""Writing a bundle: entries of the store and archives of the user's images, into one file."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from minikube import __version__
from minikube.artifacts import sealing
from minikube.artifacts.bundleformat import BLOBS, FORMAT, IMAGE_FILE, MANIFEST, SIGNATURE, Entry, File, Image, Manifest, encode
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.imagearchive import NotAnImage, opened
from minikube.artifacts.store import Recipe, Store
from minikube.artifacts.versionrecords import collect
from minikube.host.credentials import as_person, as_root
from minikube.host.files import cannot_write
from minikube.output.progress import Progress, Task
from minikube.output.reason import Reason
from minikube.profiles import paths

_BLOCK = 1 << 20
_QUICK = 1  # binaries get little smaller with more effort


class Content(NamedTuple):
    """A bundle to be: its manifest, and where the bytes of every digest are."""

    manifest: Manifest
    sources: dict[str, Path]


def gather(
    recipes: Sequence[Recipe], archives: Sequence[Path], kubernetes: Sequence[str], store: Store, *, repository: str = ""
) -> Content:
    """Describe what goes in: entries that are in the store, and archives of images."""
    inodes: dict[tuple[int, int], int] = {}
    sources: dict[str, Path] = {}
    entries = [_entry(recipe, store, inodes, sources) for recipe in {recipe.entry_name: recipe for recipe in recipes}.values()]
    images: list[Image] = []
    for archive in archives:
        with as_person():  # whose files they are
            names = image_names(archive)
            entry = _archive_entry(archive, len(inodes) + len(images), sources)
        if any(entry.digest == image.digest for image in images):
            continue
        entries.append(entry)
        images.append(Image(names=names, entry=entry.name, digest=entry.digest))
    manifest = Manifest(
        format=FORMAT,
        minikube=__version__,
        architecture=goarch(),
        kubernetes=list(kubernetes),
        entries=entries,
        images=images,
        repository=repository,
        records={place: text for version in kubernetes for place, text in collect(version, store).items()},
    )
    return Content(manifest, sources)


def write(path: Path, content: Content, progress: Progress, *, sign: Callable[[bytes], bytes] | None = None) -> None:
    """Write the bundle: whole, or not at all. A name that ends in .gz is compressed."""
    blobs = content.manifest.blobs
    described = encode(content.manifest)
    signature = sign(described) if sign else b""
    with (
        _whole_or_not_at_all(path) as stream,
        progress.task(f"Writing {path.name}", sum(blobs.values()) / 1e6, "MB") as task,
        tarfile.TarFile(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_BLOCK) as tar,
    ):
        _add(tar, MANIFEST, len(described), io.BytesIO(described))
        if signature:
            _add(tar, SIGNATURE, len(signature), io.BytesIO(signature))
        for digest, size in blobs.items():
            with _readable(content.sources[digest]) as source:
                checked = _Checked(source, task)
                _add(tar, BLOBS + digest, size, cast("BinaryIO", checked))
            if checked.digest.hexdigest() != digest:
                raise Reason(
                    "HOST_BUNDLE_DAMAGED",
                    f"{content.sources[digest]} is not what it was made as, or changes while it is read",
                    advice="If it is a component, the next `minikube start` makes it again; then create the bundle again.",
                )


def _readable(path: Path) -> BinaryIO:
    try:
        with as_root() if path.is_relative_to(paths.store()) else as_person():
            return path.open("rb")
    except OSError as error:
        raise Reason("HOST_PATH_STAT", f"{path} cannot be read: {error.strerror}") from None


def image_names(archive: Path) -> list[str]:
    """The images in an archive; a reason if it is none."""
    try:
        with opened(archive) as images:
            return [name for image in images for name in image.names]
    except (NotAnImage, OSError, ValueError) as error:
        raise Reason(
            "MK_USAGE", f"{archive} is not an archive of images: {error}", advice="Write one with: docker save -o image.tar NAME"
        ) from None


def _entry(recipe: Recipe, store: Store, inodes: dict[tuple[int, int], int], sources: dict[str, Path]) -> Entry:
    content = store.path(recipe)
    files = {}
    for path, (kind, value) in sorted(sealing.records(content.parent).items()):
        about = (content / path).lstat()
        mode = stat.S_IMODE(about.st_mode)
        if kind == "file":
            number = inodes.setdefault((about.st_dev, about.st_ino), len(inodes))
            files[path] = File("file", mode, about.st_mtime_ns, value, about.st_size, number)
            sources.setdefault(value, content / path)
        elif kind == "link":
            files[path] = File("link", 0o777, about.st_mtime_ns, value)
        elif kind == "directory":
            files[path] = File("directory", mode, about.st_mtime_ns)
        else:
            raise Reason("HOST_BUNDLE_UNSUPPORTED", f"{content / path} is a device or a socket, which a bundle cannot hold")
    return Entry(name=recipe.name, digest=recipe.digest, identity=recipe.identity, what=recipe.label, files=files)


def _archive_entry(archive: Path, inode: int, sources: dict[str, Path]) -> Entry:
    with archive.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = stream.tell()
    sources[digest] = archive
    slug = re.sub(r"[^a-z0-9._-]+", "-", archive.name.lower()).strip(".-_")[:60] or "archive"
    file = File("file", 0o644, 0, digest, size, inode)
    return Entry(name=f"image-{slug}", digest=digest, identity=digest, what=archive.name, files={IMAGE_FILE: file})


def _add(tar: tarfile.TarFile, name: str, size: int, source: BinaryIO) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    try:
        tar.addfile(member, source)
    except tarfile.ReadError as error:
        raise OSError(None, f"{name} has become shorter") from error


class _Checked:
    """Reads a file and knows the digest of what was read; the task moves on with it."""

    def __init__(self, source: BinaryIO, task: Task) -> None:
        self._source, self._task = source, task
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.digest.update(data)
        self._task.advance(len(data) / 1e6)
        return data


@contextlib.contextmanager
def _whole_or_not_at_all(path: Path) -> Iterator[BinaryIO]:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with as_person():
            opened = partial.open("xb")
        with opened as file:
            if path.suffix in (".gz", ".tgz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=_QUICK, fileobj=file, mtime=0) as stream:
                    yield cast("BinaryIO", stream)
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        with as_person():
            partial.replace(path)
    except OSError as error:
        with as_person():
            partial.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    except BaseException:
        with as_person():
            partial.unlink(missing_ok=True)
        raise
