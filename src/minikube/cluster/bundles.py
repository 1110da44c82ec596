"""Bundles: everything a start needs in one file, for machines that reach nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from minikube import __version__
from minikube.artifacts import bundlewriter, catalogue, imagedaemons, remoteimages, sshsig
from minikube.artifacts.assembly import component_recipes, missing_components, provide_components
from minikube.artifacts.bundleformat import IMAGE_FILE, NAMESPACE, Manifest, refuse_foreign
from minikube.artifacts.bundleimport import Imported, import_bundle
from minikube.artifacts.bundlereader import Bundle, open_bundle
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.imagenames import file_name, full_name
from minikube.artifacts.store import Store
from minikube.cluster import images as clusterimages
from minikube.cluster.imageloading import load_archive
from minikube.drivers.base import Node
from minikube.host import rootrights
from minikube.host.files import give
from minikube.output.progress import Progress
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.settings import Settings

VERSION_FLAG = "kubernetes-version"


class Inspected(NamedTuple):
    """A bundle that was read to its end: every byte is as its manifest says."""

    manifest: Manifest
    signed_with: str
    """Fingerprint of the key, empty without a signature."""
    signer: sshsig.Signer | None
    """Who signed it, if that was to be verified."""


def create(
    versions: Sequence[VersionSet], report: Report, *, images: Sequence[str], output: Path | None, key: Path | None, profile: str
) -> Path:
    """Write a bundle with everything of these versions, made first where it is missing."""
    names = [version.kubernetes for version in versions]
    path = output or Path(f"minikube-{'-'.join(names)}-{goarch()}.tar")
    if not path.absolute().parent.is_dir():
        raise Reason("HOST_PATH_MISSING", f"there is no directory {path.absolute().parent}")
    rootrights.require("`minikube bundle create` reads components, some of which only root may read")
    store = Store()
    with _archives(images, profile, report) as archives:
        for version in versions:
            provide_components(version, report.progress)
        recipes = [recipe for version in versions for recipe in component_recipes(version, store)]
        content = bundlewriter.gather(recipes, archives, names, store)
        bundlewriter.write(path, content, report.progress, sign=None if key is None else lambda data: sshsig.sign(data, key, NAMESPACE))
    give(path, like=path.absolute().parent)
    return path


def inspect(path: Path, trusted: Path | None, progress: Progress) -> Inspected:
    """Read the whole bundle and check it."""
    with open_bundle(path) as bundle:
        signer = _verified(bundle, trusted)
        with progress.task(f"Checking {path.name}", sum(bundle.manifest.blobs.values()) / 1e6, "MB") as task:
            for _digest in bundle.blobs(_nowhere, lambda size: task.advance(size / 1e6)):
                pass
        return Inspected(bundle.manifest, sshsig.fingerprint_in(bundle.signature), signer)


def bring_in(path: Path, trusted: Path | None, progress: Progress) -> tuple[Manifest, Imported]:
    """Import a bundle into the store."""
    store = Store()
    with open_bundle(path) as bundle:
        _verified(bundle, trusted)
        refuse_foreign(bundle.manifest)
        if not all(store.entry(entry.name, entry.digest) for entry in bundle.manifest.entries):
            rootrights.require("`minikube bundle import` makes what becomes the root of nodes, which takes root rights")
        return bundle.manifest, import_bundle(bundle, store, progress)


def unusable(manifest: Manifest) -> list[str]:
    """Kubernetes versions of a bundle that this minikube would make in another way."""
    known = [versions for versions in catalogue.VERSION_SETS if versions.kubernetes in manifest.kubernetes]
    return [versions.kubernetes for versions in known if missing_components(versions, Store().root)] + [
        name for name in manifest.kubernetes if name not in {versions.kubernetes for versions in known}
    ]


class StartBundle:
    """The bundle of one start: looked at before anything is made, imported when its turn comes."""

    def __init__(self, settings: Settings) -> None:
        self.path = Path(str(settings.get("bundle")))
        verify = str(settings.get("bundle-verify"))
        self._trusted = Path(verify) if verify else None
        with open_bundle(self.path) as bundle:
            _verified(bundle, self._trusted)
            self._manifest = bundle.manifest
        refuse_foreign(self._manifest)
        if self._manifest.kubernetes and catalogue.DEFAULT.kubernetes not in self._manifest.kubernetes:
            settings.prefer(VERSION_FLAG, max(self._manifest.kubernetes, key=catalogue.parts))

    def bring_in(self, versions: VersionSet, progress: Progress) -> None:
        """Have everything of these versions in the store, from the bundle alone."""
        with open_bundle(self.path) as bundle:
            _verified(bundle, self._trusted)
            import_bundle(bundle, Store(), progress)
        if missing := missing_components(versions, Store().root):
            has, lacks = ", ".join(self._manifest.kubernetes), ", ".join(recipe.label for recipe in missing)
            raise Reason(
                "HOST_BUNDLE_UNSUPPORTED",
                f"the bundle was made by minikube v{self._manifest.minikube} with Kubernetes {has}; "
                f"this is v{__version__}, and for Kubernetes {versions.kubernetes} it lacks {lacks}",
                advice=f"Make one with this version of minikube: minikube bundle create --{VERSION_FLAG}={versions.kubernetes}",
            )

    def load_images(self, node: Node, report: Report) -> None:
        """Give the node the user's images that are in the bundle."""
        store = Store()
        for image in self._manifest.images:
            report.info(f"Loading {', '.join(image.names) or image.entry} from the bundle ...", style="sub")
            content = store.entry(image.entry, image.digest)
            if content is None:
                raise Reason("GUEST_IMAGE_LOAD", f"{image.entry} is not in the store", advice="Import the bundle again.")
            load_archive(node, content / IMAGE_FILE, report.progress, label=image.entry)


def start_bundle(settings: Settings) -> StartBundle | None:
    """The bundle that a start was given."""
    settings.get("bundle-verify")  # has no effect of its own, which is no news to anybody
    return StartBundle(settings) if settings.get("bundle") else None


@contextlib.contextmanager
def _archives(images: Sequence[str], profile: str, report: Report) -> Iterator[list[Path]]:
    """An archive for each image: the file itself, or written from docker, podman, the profile's own cluster or a registry."""
    with tempfile.TemporaryDirectory(prefix="minikube-bundle-") as scratch:
        found = []
        for number, image in enumerate(images):
            archive = Path(image)
            if not archive.is_file():
                archive = Path(scratch, str(number), _file_name(image))
                archive.parent.mkdir()
                _save(image, archive, profile, report)
            bundlewriter.image_names(archive)  # refused before minutes of work
            found.append(archive)
        yield found


def _file_name(image: str) -> str:
    try:
        return file_name(full_name(image)).rpartition("/")[2]
    except ValueError as error:
        raise Reason(
            "HOST_PATH_MISSING",
            f"there is no file {image}, and {error}",
            advice="--image takes an archive, or the name of an image: docker save -o image.tar NAME",
        ) from None


def _save(image: str, archive: Path, profile: str, report: Report) -> None:
    """From docker or podman, the profile's cluster, or its registry."""
    tried = []
    try:
        imagedaemons.save(image, archive)
        return
    except imagedaemons.NoSuchImage as error:
        tried.append(str(error))
    try:
        clusterimages.save(profile, image, str(archive), report)
        return
    except Reason as reason:
        tried.append(reason.message)
    try:
        remoteimages.write_archive(image, archive, clusterimages.origin(profile), report.progress)
        return
    except Reason as reason:
        tried.append(reason.message)
    raise Reason(
        "HOST_PATH_MISSING",
        f"{image} is neither a file nor an image of this machine ({tried[0]}), "
        f"nor is it in a cluster ({tried[1]}), nor in a registry: {tried[2]}",
        advice=f"Write it to a file first: docker save -o image.tar {image}",
    )


def _verified(bundle: Bundle, trusted: Path | None) -> sshsig.Signer | None:
    return None if trusted is None else sshsig.verify(bundle.manifest_bytes, bundle.signature, trusted, NAMESPACE)


def _nowhere(digest: str) -> BinaryIO:
    return Path(os.devnull).open("wb")
