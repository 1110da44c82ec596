"""The release source: official binaries and images, downloaded, checked, and put where nodes expect them.

The node image is made from Debian packages and the storage provisioner from its module, as always: nobody publishes either.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minikube.artifacts import endpoints, imagereference, tarreading
from minikube.artifacts.catalogue import CRI_DOCKERD, CRI_O, DEFAULT, VersionSet
from minikube.artifacts.digests import Digest, NotADigest
from minikube.artifacts.download import Downloads, Wanted
from minikube.artifacts.endpoints import ReleasedFile, Signer
from minikube.artifacts.gocomponents import go_components, goarch
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.layoutarchive import write_layouts
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.artifacts.ocidocuments import DOCUMENT_BYTES, decoded
from minikube.artifacts.origin import Origin
from minikube.artifacts.pins import Pins
from minikube.artifacts.prepared import build_prepared_store
from minikube.artifacts.recipecode import code_of
from minikube.artifacts.registry import Registry
from minikube.artifacts.seed import build_seed
from minikube.artifacts.store import Recipe, Store
from minikube.artifacts.web import Web
from minikube.output.progress import Progress
from minikube.output.reason import Reason

if TYPE_CHECKING:
    from minikube.artifacts import sigstore

_KUBERNETES = ("kubelet", "kubeadm", "kubectl")
_CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
PROVISIONER_IMAGE = "gcr.io/k8s-minikube/storage-provisioner:v5"
_LARGEST_ARCHIVE = 2 << 30  # bytes, unpacked
_BINARIES_IN_IMAGES = "io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs/usr/local/bin"


class ReleaseRecipes(NamedTuple):
    """What a node and the host need; everything else is only on the way there."""

    node_binaries: Recipe
    prepared_store: Recipe
    seed: Recipe
    runc: Recipe
    kubectl: Recipe


class Releases:
    """One version set from one origin into one store."""

    def __init__(
        self,
        versions: VersionSet,
        store: Store,
        origin: Origin,
        node_image: Recipe,
        *,
        web: Web | None = None,
        roots: sigstore.Roots | None = None,
    ) -> None:
        """`roots`: whose certificates signatures must have, sigstore's public ones unless told."""
        self.versions, self.store, self.origin, self.node_image = versions, store, origin, node_image
        self._web, self.roots = web, roots
        self._downloads: Downloads | None = None
        self.architecture = goarch()
        self.pins = Pins(store.root)

    @cached_property
    def web(self) -> Web:
        return self._web or Web(unchecked=self.origin.insecure_registries)

    @property
    def bytes_moved(self) -> int:
        return self._downloads.bytes_moved if self._downloads else 0

    def forget_downloads(self) -> None:
        """Everything is in its entry."""
        if self._downloads:
            self._downloads.forget()

    @cached_property
    def recipes(self) -> ReleaseRecipes:
        kubernetes = {name: self._binary(name) for name in _KUBERNETES}
        runc = self._files("runc", self.versions.runc, endpoints.runc(self.versions.runc, self.architecture))
        containerd = self._files("containerd", self.versions.containerd, endpoints.containerd(self.versions.containerd, self.architecture))
        crictl = self._files("crictl", self.versions.crictl, endpoints.crictl(self.versions.crictl, self.architecture))
        plugins = self._files("cni-plugins", self.versions.cni_plugins, endpoints.cni_plugins(self.versions.cni_plugins, self.architecture))
        stocked = self._prepared_store(containerd)
        return ReleaseRecipes(
            node_binaries=self._node_binaries(*kubernetes.values(), runc, containerd, crictl, plugins),
            prepared_store=stocked,
            seed=self._seed(stocked),
            runc=runc,
            kubectl=kubernetes["kubectl"],
        )

    @property
    def cri_dockerd(self) -> Recipe:
        """The kubelet's way to docker, for clusters whose runtime that is."""
        return self._files("cri-dockerd", CRI_DOCKERD, endpoints.cri_dockerd(CRI_DOCKERD, self.architecture))

    @property
    def cri_o(self) -> Recipe:
        """CRI-O and the programs it starts containers with."""
        return self._files("cri-o", CRI_O, endpoints.cri_o(CRI_O, self.architecture))

    def _binary(self, name: str) -> Recipe:
        return self._files(name, self.versions.kubernetes, endpoints.kubernetes_binary(name, self.versions.kubernetes, self.architecture))

    def _files(self, name: str, version: str, released: ReleasedFile) -> Recipe:
        """A program, or several out of an archive, as its project publishes them."""

        def build(target: Path, progress: Progress) -> None:
            arrived = target / name
            digest = self._published_digest(released)
            pin = f"{released.place} {digest.algorithm}"
            self.pins.check(pin, digest)
            urls = released.urls(released.place, self.origin.binary_mirror)
            self._through(progress).fetch(Wanted(urls, digest, f"{name} {version}"), arrived)
            signed = released.signer is not None and self._is_signed(released, released.signer, arrived)
            self._hold(pin, digest, f"{name} {version}", progress, signer=released.signer, signed=signed)
            if released.members:
                packed = arrived.rename(target.parent / "archive")
                _take_out(packed, released, target)
                packed.unlink()
            else:
                arrived.chmod(0o755)

        return _download(f"{name}-{version}", f"{released.place} {released.members}", build, f"{name} {version}")

    def _published_digest(self, released: ReleasedFile) -> Digest:
        """The checksum its project publishes."""
        missing: Reason | None = None
        for url in released.checksum_urls(self.origin.binary_mirror):
            algorithm = url.rpartition(".")[2].removesuffix("sum")
            try:
                text, _ = self.web.read(url, limit=1 << 20)
            except Reason as reason:
                if reason.id != "INET_NOT_FOUND":
                    raise
                missing = missing or reason
                continue
            return _checksum_in(text.decode(errors="replace"), algorithm, released.name, url)
        if released.description:
            return _described_digest(self.web.read(released.described_at, limit=DOCUMENT_BYTES)[0], released)
        raise Reason("INET_NOT_FOUND", f"there is no checksum of {released.name}: {missing.message if missing else 'none is published'}")

    def _is_signed(self, released: ReleasedFile, signer: Signer, file: Path) -> bool:
        """Whether there is a signature, which must then be right. Old releases have none, and mirrors may lack it."""
        found = [self._beside(released, suffix) for suffix in (".sig", ".cert")]
        if None in found:
            return False
        from minikube.artifacts import sigstore

        signature, certificate = (content or b"" for content in found)
        try:
            sigstore.verify(file, signature, certificate, signer, self.roots or sigstore.public_roots())
        except sigstore.BadSignature as error:
            raise Reason(
                "INET_BAD_SIGNATURE",
                f"{released.name} is not what {signer.account} has signed: {error}",
                advice="Nothing of it was used. Take it from another place: leave out --binary-mirror, or name another one.",
            ) from None
        return True

    def _beside(self, released: ReleasedFile, suffix: str) -> bytes | None:
        for url in released.urls(released.place + suffix, self.origin.binary_mirror):
            try:
                return self.web.read(url, limit=1 << 16)[0]
            except Reason as reason:
                if reason.id != "INET_NOT_FOUND":
                    raise
        return None

    def _hold(self, pin: str, digest: str, what: str, progress: Progress, *, signer: Signer | None = None, signed: bool = False) -> None:
        """Keep a checksum that is right, and say why it is believed if it is new."""
        if not self.pins.hold(pin, digest):
            return
        if signer and signed:
            progress.say(f"{what} is signed by {signer.account}: {digest[:23]}…")
        elif signer:
            progress.say(f"{what} has no signature there: it is trusted on first use as {digest[:23]}… (minikube cache pins)")
        else:
            progress.say(f"{what} is trusted on first use as {digest[:23]}… (minikube cache pins)")

    def _image(self, component: str, name: str) -> Recipe:
        reference = imagereference.parse(name)

        def build(target: Path, progress: Progress) -> None:
            registry = Registry(
                self.web, self._through(progress), insecure=self.origin.insecure_registries, mirrors=self.origin.registry_mirrors
            )
            manifest = registry.pull(reference, target, self.architecture, name=name)
            self._hold(f"{name} {self.architecture}", manifest.digest, what, progress)

        what = f"image {component}:{reference.tag}"
        return _download(f"image-{component}-{reference.tag}", f"{name} {self.architecture}", build, what)

    def _node_binaries(self, *programs: Recipe) -> Recipe:
        def build(target: Path, progress: Progress) -> None:
            directory, plugins = target / "usr/local/bin", target / "usr/local/libexec/cni"
            directory.mkdir(parents=True)
            plugins.mkdir(parents=True)
            for program in programs:
                for path in self.store.path(program).iterdir():
                    place = (plugins if program.name.startswith("release-cni") else directory) / path.name
                    if path.name in ("runc", "kubectl"):
                        shutil.copy2(path, place)  # the host runs its own: never the same file
                    else:
                        os.link(path, place)

        return Recipe(
            name="release-node-binaries",
            identity="release 1",
            build=build,
            needs=programs,
            estimate_seconds=1,
            what="binaries of the node, in their places",
        )

    @cached_property
    def _names(self) -> dict[str, str]:
        return endpoints.image_names(self.versions, self.origin.image_repository)

    @cached_property
    def _images(self) -> tuple[Recipe, ...]:
        return tuple(self._image(component, name) for component, name in self._names.items())

    @cached_property
    def _provisioner(self) -> Recipe:
        component = next(one for one in go_components(self.versions) if one.name == "storage-provisioner")
        return go_recipe(component, self.store)

    def write_image_archive(self, path: Path, progress: Progress) -> None:
        """All images of the version set, as one OCI archive."""
        layouts = [self.store.provide(image, progress) for image in self._images]
        ours, unpacked = path.with_name("ours.tar"), path.with_name("ours")
        write_archive(ours, [self._provisioner_image(self.store.provide(self._provisioner, progress))])
        with tarfile.open(ours) as packed:
            packed.extractall(unpacked, filter="data")
        write_layouts(path, [*layouts, unpacked])
        ours.unlink()
        shutil.rmtree(unpacked)

    def _prepared_store(self, containerd: Recipe) -> Recipe:
        def build(target: Path, progress: Progress) -> None:
            archive = target.parent / "images.tar"
            self.write_image_archive(archive, progress)
            programs = self.store.path(containerd)
            build_prepared_store(
                target,
                containerd=programs / "containerd",
                ctr=programs / "ctr",
                archives=[archive],
                pinned=[self._names["pause"]],
            )
            archive.unlink()

        return Recipe(
            name=f"release-images-{self.versions.kubernetes}",
            identity=f"release {code_of('oci', 'prepared', 'layoutarchive')}",
            build=build,
            needs=(*self._images, containerd, self._provisioner, self.node_image),
            estimate_seconds=20,
            what=f"images of Kubernetes {self.versions.kubernetes}, unpacked for containerd",
        )

    def _provisioner_image(self, program: Path) -> Image:
        certificates = (Entry(_CERTIFICATES, 0o644, source=self.store.path(self.node_image) / _CERTIFICATES),)
        layer = (Entry("storage-provisioner", source=program / "storage-provisioner"),)
        return Image(PROVISIONER_IMAGE, (certificates, layer), entrypoint=("/storage-provisioner",))

    def _seed(self, stocked: Recipe) -> Recipe:
        """From the very programs the cluster will run: they are in its images."""

        def build(target: Path, progress: Progress) -> None:
            def program(name: str) -> Path:
                content = self.store.path(stocked).resolve()
                found = next(content.glob(f"{_BINARIES_IN_IMAGES}/{name}"), None)
                if found is None or not found.resolve().is_relative_to(content):
                    raise Reason("RUNTIME_CACHE", f"there is no {name} in the images of Kubernetes {self.versions.kubernetes}")
                return found

            build_seed(
                target,
                etcd=program("etcd"),
                api_server=[str(program("kube-apiserver"))],
                controller_manager=[str(program("kube-controller-manager"))],
            )

        return Recipe(
            name=f"release-seed-{self.versions.kubernetes}",
            identity=f"release {code_of('seed', 'seedcheck')}",
            build=build,
            needs=(stocked,),
            estimate_seconds=10,
            what=f"first database content of Kubernetes {self.versions.kubernetes}",
        )

    def _through(self, progress: Progress) -> Downloads:
        """One for all recipes: it limits how many connections there are at once."""
        if self._downloads is None:
            self._downloads = Downloads(self.store.root / "downloads", self.web, progress)
        return self._downloads


def kubeadm_recipe(version: str, store: Store, origin: Origin) -> Recipe:
    """kubeadm alone: whoever has it knows what else a version needs."""
    alone = Releases(DEFAULT._replace(kubernetes=version), store, origin, Recipe("", "", lambda _target, _progress: None))
    return alone._binary("kubeadm")


def _download(name: str, identity: str, build: Callable[[Path, Progress], None], what: str) -> Recipe:
    return Recipe(f"release-{name}", f"release {identity} 1", build, estimate_seconds=4, what=what, light=True)


def _checksum_in(text: str, algorithm: str, name: str, url: str) -> Digest:
    """A checksum alone, or the one on the line of that file."""
    for line in text.splitlines():
        checksum, _, named = line.strip().partition(" ")
        if not named or named.strip(" *\t").rpartition("/")[2] == name:
            with contextlib.suppress(NotADigest):
                return Digest(f"{algorithm}:{checksum.lower()}")
    raise Reason("INET_BAD_CHECKSUM", f"{url} has no checksum of {name} in it", advice="A proxy may have answered in the server's place.")


def _described_digest(description: bytes, released: ReleasedFile) -> Digest:
    """The digest that GitHub keeps of a release's file, in the form `sha256:…`."""
    try:
        assets = decoded(description, dict[str, Any])["assets"]
        return Digest(next(asset["digest"] for asset in assets if asset["name"] == released.name))
    except (ValueError, KeyError, TypeError, StopIteration):
        raise Reason("INET_BAD_CHECKSUM", f"{released.described_at} has no checksum of {released.name} in it") from None


def _take_out(archive: Path, released: ReleasedFile, target: Path) -> None:
    """The wanted programs out of an archive, wherever in it they are; nothing else is unpacked."""
    try:
        with archive.open("rb") as packed:
            for member, opened in tarreading.members(tarreading.decompressed(packed) or packed, most=_LARGEST_ARCHIVE):
                wanted = next((one for one in released.members if f"/{member.name}".endswith(f"/{one}")), "")
                if wanted and member.isreg():
                    program = target / wanted.rpartition("/")[2]
                    tarreading.take_out(member, opened, program)
                    program.chmod(0o755)
    except tarreading.BadArchive as error:
        raise Reason("INET_BAD_CHECKSUM", f"{released.name} is not an archive of programs: {error}") from None
    missing = [one for one in released.members if not (target / one.rpartition("/")[2]).exists()]
    if missing:
        raise Reason("INET_BAD_CHECKSUM", f"there is no {' and no '.join(missing)} in {released.name}")
