"""Images kept on this machine for every cluster of this home: ~/.minikube/cache/images, and their names in config.json."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from minikube.artifacts import imagedaemons, remoteimages
from minikube.artifacts.imagearchive import machine_architecture
from minikube.artifacts.imagenames import file_name
from minikube.artifacts.origin import Origin
from minikube.cluster import existing, images
from minikube.cluster.imageloading import load_archive
from minikube.drivers.base import Node
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles import userconfig
from minikube.profiles.paths import home

KEY = "cache"


def names() -> list[str]:
    """The images of `minikube cache`, as config.json has them."""
    kept = userconfig.read().get(KEY) or {}
    if not isinstance(kept, dict):
        raise Reason("MK_CACHE_LIST", f'"{KEY}" in {userconfig.config_path()} is not a map of images')
    return sorted(kept)


def directory() -> Path:
    return home() / "cache" / "images" / machine_architecture()


def place(image: str) -> Path:
    images.named(image, "MK_USAGE")
    return directory() / file_name(image)


def add(image_names: Sequence[str], report: Report, *, profiles: Sequence[str]) -> None:
    """Keep images of docker, podman or a registry, and load them into the clusters that run."""
    running = _running(profiles)
    origin = images.origin(profiles[0]) if profiles else Origin()
    for image in image_names:
        fetch(image, report, running, origin)
    userconfig.change(lambda content: content.__setitem__(KEY, {**(content.get(KEY) or {}), **dict.fromkeys(image_names)}))
    for node in running:
        for image in image_names:
            _load(node, image, report)


def fetch(image: str, report: Report, nodes: Sequence[Node] = (), origin: Origin | None = None) -> None:
    """Have the image's archive in the cache: from docker or podman, a cluster that has it, or its registry."""
    target = place(image)
    _make_room(target)
    with tempfile.TemporaryDirectory(prefix=".adding-", dir=directory()) as scratch:
        archive = Path(scratch, "image")
        try:
            imagedaemons.save(image, archive)
        except imagedaemons.NoSuchImage as error:
            if not any(images.fetch(node, image, archive, report) for node in nodes):
                _from_registry(image, archive, origin or Origin(), report, elsewhere=str(error))
        archive.replace(target)


def delete(image_names: Sequence[str]) -> None:
    if any(image in names() for image in image_names):
        userconfig.change(lambda content: content.__setitem__(KEY, {k: v for k, v in content[KEY].items() if k not in image_names}))
    for image in image_names:
        try:
            place(image).unlink()
        except OSError as error:
            raise Reason("HOST_DEL_CACHE", f"Failed to delete {image} from the cache: {error.strerror}") from error
        for above in place(image).parents:
            if above == directory() or any(above.iterdir()):
                break
            above.rmdir()


def reload(report: Report) -> None:
    """Every cached image into every running cluster of this home."""
    wanted = names()
    for node in _running([profile.name for profile in profile_files.list_profiles().valid]):
        for image in wanted:
            _load(node, image, report)


def load_into(node: Node, report: Report) -> None:
    """For a cluster that has just been started: its lack of an image must not fail it."""
    for image in names():
        try:
            _load(node, image, report)
        except Reason as reason:
            report.warning(f"The cached image {image} was not loaded: {reason.message}")


def save(profile: str, image: str, report: Report, *, daemon: bool, remote: bool) -> None:
    """An image of the cluster into the cache, and on to where the flags say."""
    target = place(image)
    _make_room(target)
    images.save(profile, image, str(target), report)
    if daemon:
        try:
            engine = imagedaemons.load(target)
        except (imagedaemons.NoSuchImage, OSError) as error:
            raise Reason("GUEST_IMAGE_SAVE", f"Failed to save image: {error}") from error
        report.info(f"Saved {image} to {engine}")
    if remote:
        images.push(profile, [image], report)


def _from_registry(image: str, archive: Path, origin: Origin, report: Report, *, elsewhere: str) -> None:
    try:
        remoteimages.write_archive(image, archive, origin, report.progress)
    except Reason as reason:
        if not reason.id.startswith("INET_"):
            raise
        raise Reason(
            "MK_CACHE_LOAD",
            f"Failed to cache {image}: {reason.message}\nIt is not on this machine either: {elsewhere}",
            advice=reason.advice,
        ) from reason


def _make_room(target: Path) -> None:
    from minikube.host.files import cannot_write

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(target, error) from error


def _load(node: Node, image: str, report: Report) -> None:
    if not place(image).exists():
        fetch(image, report)
    loaded = load_archive(node, place(image), report.progress, label=image)
    if loaded.moved:
        images.tell(report, loaded, image)


def _running(profiles: Sequence[str]) -> list[Node]:
    found = []
    for profile in profiles:
        driver = existing.driver(existing.facts(profile))
        if driver.state() == "Running":
            found.append(driver.node())
    return found
