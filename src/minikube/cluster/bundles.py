"""Bundles: everything a start needs in one file, for machines that reach nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from minikube import __version__
from minikube.addons.catalogue import require_built
from minikube.artifacts import bundlewriter, catalogue, imagedaemons, remoteimages, sources, sshsig, unpinned, versionrecords
from minikube.artifacts.bundleformat import IMAGE_FILE, NAMESPACE, Manifest, refuse_foreign
from minikube.artifacts.bundleimport import Imported, import_bundle
from minikube.artifacts.bundlereader import Bundle, open_bundle
from minikube.artifacts.endpoints import IMAGES
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.imagenames import file_name, full_name
from minikube.artifacts.origin import Origin
from minikube.artifacts.rootspart import making
from minikube.artifacts.store import Recipe, Store
from minikube.cluster import images as clusterimages
from minikube.cluster.imageloading import load_archive
from minikube.cluster.mirrors import plan_downloads, sourcing
from minikube.cluster.plan import runtime_name
from minikube.drivers.base import Node
from minikube.host import rootrights
from minikube.host.credentials import as_person
from minikube.output.progress import Progress
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.profiles.settings import Settings

VERSION_FLAG = "kubernetes-version"


class Inspected(NamedTuple):
    """A bundle that was read to its end: every byte is as its manifest says."""

    manifest: Manifest
    signed_with: str
    """Fingerprint of the key, empty without a signature."""
    signer: sshsig.Signer | None
    """Who signed it, if that was to be verified."""


def create(settings: Settings, report: Report, *, output: Path | None, key: Path | None) -> tuple[Path, list[str]]:
    """Write a bundle with everything of the wanted versions, made first where it is missing; the file, and the versions."""
    wanted = [str(text) for text in settings.get(VERSION_FLAG) or [""]]
    for text in wanted:
        catalogue.resolve_version(text)  # refused before anything is asked or made
    for runtime in settings.get("container-runtime"):
        runtime_name(str(runtime))
    for addon in settings.get("addon"):
        require_built(str(addon))
    existing = profile_files.load(settings.profile)
    config = existing or new_cluster_config(settings.profile)
    plan_downloads(settings, config, fresh=existing is None)
    if output and not output.absolute().parent.is_dir():
        raise Reason("HOST_PATH_MISSING", f"there is no directory {output.absolute().parent}")
    rootrights.require("`minikube bundle create` reads components, some of which only root may read")
    store, choice, progress = Store(), sourcing(settings, config), report.progress
    with _archives(settings.get("image"), settings.profile, report) as archives, making():
        recipes: list[Recipe] = []
        names = list(dict.fromkeys(unpinned.resolve_version(text, choice, progress) for text in wanted))
        for name in names:
            versions = unpinned.version_set(name, choice, progress)
            _, source = sources.provide(versions, choice, progress)
            recipes += everything_of(sources.recipes_of(versions, choice.origin, source, store))
        repository = "" if choice.origin.image_repository == IMAGES else choice.origin.image_repository
        content = bundlewriter.gather(recipes, archives, names, store, repository=repository)
        path = output or Path(f"minikube-{'-'.join(names)}-{goarch()}.tar")
        bundlewriter.write(path, content, progress, sign=None if key is None else lambda data: _signed(data, key))
    return path, names


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
        with making():
            versionrecords.keep(bundle.manifest.records, store)
            return bundle.manifest, import_bundle(bundle, store, progress)


def unusable(manifest: Manifest) -> list[str]:
    """Kubernetes versions of a bundle that this minikube would make in another way."""
    origin = Origin(image_repository=manifest.repository or IMAGES)
    return [version for version in manifest.kubernetes if absent(version, origin) != []]


def everything_of(recipes: Iterable[Recipe]) -> list[Recipe]:
    """These and all they are made of: an upgrade takes its images from there."""
    found: dict[str, Recipe] = {}

    def add(recipe: Recipe) -> None:
        if recipe.entry_name not in found:
            for need in recipe.needs:
                add(need)
            found[recipe.entry_name] = recipe

    for recipe in recipes:
        add(recipe)
    return list(found.values())


def absent(version: str, origin: Origin) -> list[Recipe] | None:
    """What is not in the store of a version: nothing if one of the sources has been here for all of it. None if it is not even known."""
    found = []
    for source in (sources.MODULES, sources.RELEASE):
        if versions := unpinned.known(version, source):
            found.append(sources.missing(versions, origin, source, Store()))
    return min(found, key=len, default=None)


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
        with making():
            versionrecords.keep(self._manifest.records, Store())
        if self._manifest.repository:
            settings.prefer("image-repository", self._manifest.repository)
        if self._manifest.kubernetes and catalogue.DEFAULT.kubernetes not in self._manifest.kubernetes:
            settings.prefer(VERSION_FLAG, max(self._manifest.kubernetes, key=catalogue.parts))

    def bring_in(self, version: str, origin: Origin, progress: Progress) -> None:
        """Have everything of a Kubernetes version in the store, from the bundle alone."""
        with open_bundle(self.path) as bundle:
            _verified(bundle, self._trusted)
            import_bundle(bundle, Store(), progress)
        missing = absent(version, origin)
        if missing != []:
            has, lacks = ", ".join(self._manifest.kubernetes), ", ".join(recipe.label for recipe in missing or ()) or "everything"
            raise Reason(
                "HOST_BUNDLE_UNSUPPORTED",
                f"the bundle was made by minikube v{self._manifest.minikube} with Kubernetes {has}; "
                f"this is v{__version__}, and for Kubernetes {version} it lacks {lacks}",
                advice=f"Make one with this version of minikube: minikube bundle create --{VERSION_FLAG}={version}",
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


def _signed(data: bytes, key: Path) -> bytes:
    with as_person():  # whose key it is
        return sshsig.sign(data, key, NAMESPACE)


def _verified(bundle: Bundle, trusted: Path | None) -> sshsig.Signer | None:
    return None if trusted is None else sshsig.verify(bundle.manifest_bytes, bundle.signature, trusted, NAMESPACE)


def _nowhere(digest: str) -> BinaryIO:
    return Path(os.devnull).open("wb")
