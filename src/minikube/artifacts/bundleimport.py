"""Out of a bundle into the store: each entry is made under its lock, sealed and renamed into place like one that was built here."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from minikube.artifacts import sealing
from minikube.artifacts.bundleformat import Entry, File, Manifest, refuse_foreign
from minikube.artifacts.bundlereader import Bundle
from minikube.artifacts.store import Recipe, Store, remove_tree
from minikube.host.files import cannot_write
from minikube.output.progress import Progress
from minikube.output.reason import Reason


class Imported(NamedTuple):
    """What an import did."""

    new: list[Entry]
    present: list[Entry]


def import_bundle(bundle: Bundle, store: Store, progress: Progress) -> Imported:
    """Bring every entry of a bundle into the store. What is there already stays; interrupted, it goes on with the first missing entry."""
    manifest = bundle.manifest
    refuse_foreign(manifest)
    missing = [entry for entry in manifest.entries if store.entry(entry.name, entry.digest) is None]
    present = [entry for entry in manifest.entries if entry not in missing]
    if missing:
        store.sweep()
        with _staging(store) as directory, _writing(directory):
            _Import(manifest, store, directory, progress).run(bundle, missing, present)
    return Imported(missing, present)


class _Import:
    """One import: which bytes are here already, and where."""

    def __init__(self, manifest: Manifest, store: Store, directory: Path, progress: Progress) -> None:
        self._manifest, self._store, self._directory, self._progress = manifest, store, directory, progress
        self._staged: dict[str, Path] = {}
        self._copies: dict[str, Path] = {}  # by digest: a file of a finished entry
        self._inodes: dict[int, Path] = {}  # by the manifest's number

    def run(self, bundle: Bundle, missing: list[Entry], present: list[Entry]) -> None:
        for entry in present:
            self._learn(entry)
        self._wanted = {file.content for entry in missing for file in entry.files.values() if file.kind == "file"} - set(self._copies)
        waiting = list(missing)
        sizes = self._manifest.blobs
        self._check_space(sum(sizes[digest] for digest in self._wanted))
        with self._progress.task("Reading the bundle", sum(sizes[digest] for digest in self._wanted) / 1e6, "MB") as task:
            self._finish(waiting)
            for digest in bundle.blobs(self._open, lambda size: task.advance(size / 1e6)):
                self._staged[digest] = self._directory / digest
                self._wanted.discard(digest)
                self._finish(waiting)

    def _open(self, digest: str) -> BinaryIO | None:
        return (self._directory / digest).open("xb") if digest in self._wanted else None

    def _finish(self, waiting: list[Entry]) -> None:
        """Make the entries whose files have all arrived: an interruption loses one of them at most."""
        while waiting and not any(file.content in self._wanted for file in waiting[0].files.values() if file.kind == "file"):
            entry = waiting.pop(0)
            recipe = Recipe(
                name=entry.name,
                identity=entry.identity,
                build=lambda target, _progress, entry=entry: self._fill(entry, target),  # type: ignore[misc]
                what=entry.what,
                given_digest=entry.digest,
            )
            self._store.provide(recipe, self._progress)
            self._learn(entry)

    def _fill(self, entry: Entry, target: Path) -> None:
        for path, file in sorted(entry.files.items()):
            place = target / path
            if file.kind == "directory":
                place.mkdir(0o700)
            elif file.kind == "link":
                place.symlink_to(file.content)
            else:
                self._put(file, place)
        # Backwards, so that a directory gets its time and permissions after everything in it was written.
        for path, file in sorted(entry.files.items(), reverse=True):
            place = target / path
            if file.kind == "directory":
                place.chmod(file.mode)
            os.utime(place, ns=(file.modified, file.modified), follow_symlinks=False)

    def _put(self, file: File, place: Path) -> None:
        if linked := self._inodes.get(file.inode):
            with contextlib.suppress(OSError):
                place.hardlink_to(linked)
                return
        if staged := self._staged.pop(file.content, None):
            staged.rename(place)
        else:
            shutil.copyfile(self._copies[file.content], place)
        place.chmod(file.mode)
        self._copies[file.content] = self._inodes[file.inode] = place

    def _learn(self, entry: Entry) -> None:
        """Where the files of an entry in the store are. One that was built here may have other bytes than the bundle's."""
        content = self._store.root / "entries" / f"{entry.name}-{entry.digest[:12]}" / sealing.CONTENT
        sealed = sealing.records(content.parent)
        for path, file in entry.files.items():
            if file.kind == "file" and sealed.get(path) == ("file", file.content):
                self._copies[file.content] = content / path
                self._inodes[file.inode] = content / path

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise Reason(
                "RSRC_INSUFFICIENT_STORAGE",
                f"the bundle needs {needed / 1e9:.1f} GB below {self._store.root}, and there is {free / 1e9:.1f} GB free",
                advice="Free some space there, or set MINIKUBE_STORE to a directory on a larger file system.",
            )


@contextlib.contextmanager
def _staging(store: Store) -> Iterator[Path]:
    """A directory for what has arrived, on the store's own file system. The lock of its name tells a sweep that it is in use."""
    import fcntl

    building, locks = store.root / "building", store.root / "locks"
    with _writing(store.root):
        building.mkdir(parents=True, exist_ok=True)
        locks.mkdir(exist_ok=True)
        lock = (locks / f"bundle-{os.getpid()}.lock").open("ab")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _writing(building):
            directory = Path(tempfile.mkdtemp(prefix=f"bundle-{os.getpid()}.", dir=building))
        try:
            yield directory
        finally:
            with contextlib.suppress(OSError):
                remove_tree(directory)
            Path(lock.name).unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(Path(error.filename or path), error) from error
