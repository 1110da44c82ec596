"""Images of registries, fetched by this machine with its user's logins: whole into a file, or just the layers that somebody lacks."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from minikube.artifacts import imagereference, imagestream
from minikube.artifacts.digests import Digest
from minikube.artifacts.download import Downloads
from minikube.artifacts.imagearchive import ArchivedImage, Layer, Piece, machine_architecture
from minikube.artifacts.jobs import Job, run_jobs
from minikube.artifacts.ocidocuments import Descriptor, read_config
from minikube.artifacts.origin import Origin
from minikube.artifacts.registry import Registry, RemoteImage
from minikube.artifacts.store import Store
from minikube.artifacts.web import Patience, Web
from minikube.host.files import cannot_write
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_AT_ONCE = 4
_PATIENCE = Patience(attempts=3)  # somebody is waiting, who may have mistyped a name


class Remote:
    """An image of a registry. Its layers are said to be in files that are there once they have been fetched."""

    def __init__(self, registry: Registry, found: RemoteImage, directory: Path) -> None:
        self._registry, self._found, self._directory = registry, found, directory
        try:
            layers = [
                Layer(layer.digest, diff_id, layer.size, Piece(str(self._place(layer.digest)), 0, layer.size))
                for layer, diff_id in zip(found.layers, read_config(found.config).diff_ids, strict=True)
            ]
        except ValueError:
            raise Reason("INET_IMAGE_NOT_FOUND", f"{found.reference} is something else than an image of containers") from None
        manifest = found.manifest
        self.image = ArchivedImage((str(found.reference),), manifest.body, manifest.media_type, found.config, tuple(layers))

    def fetch(self, digests: Collection[Digest]) -> None:
        """Have these layers, several at a time."""

        def job(layer: Descriptor) -> Job:
            return Job(layer.digest, lambda: self._registry.fetch(self._found, layer, self._place(layer.digest)), light=True)

        wanted = {layer.digest: layer for layer in self._found.layers if layer.digest in digests}
        run_jobs([job(layer) for layer in wanted.values()], at_once=_AT_ONCE)

    def _place(self, digest: Digest) -> Path:
        return self._directory / digest.file_name


@contextmanager
def looked_up(name: str, origin: Origin, progress: Progress) -> Iterator[Remote]:
    """What a registry has under a name, for this machine's architecture."""
    web = Web(unchecked=origin.insecure_registries, patience=_PATIENCE)
    directory = Store().root / "downloads"
    downloads = Downloads(directory, web, progress)
    registry = Registry(web, downloads, insecure=origin.insecure_registries, mirrors=origin.registry_mirrors)
    found = registry.describe(imagereference.parse(name), machine_architecture())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="image-", dir=directory) as scratch:
            yield Remote(registry, found, Path(scratch))
    except PermissionError as error:
        raise cannot_write(directory, error) from error
    downloads.forget()


def write_archive(name: str, path: Path, origin: Origin, progress: Progress) -> None:
    """The whole image as an OCI archive."""
    with looked_up(name, origin, progress) as remote, path.open("wb") as archive:
        remote.fetch([layer.digest for layer in remote.image.layers])
        imagestream.write(archive.fileno(), [remote.image], without=(), moved=lambda _count: None)
