"""`minikube image`: the images of a cluster's node, in and out and by name."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from minikube.artifacts import imagedaemons
from minikube.artifacts.imagenames import full_name
from minikube.artifacts.origin import Origin
from minikube.cluster import existing, registryimages
from minikube.cluster.imageloading import SHOWN_FROM, Loaded, load_archive, said, stored_images
from minikube.cluster.mirrors import origin_of
from minikube.drivers.base import Node
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.runtimes import images as runtime

MEGA = 1e6
_MORE = 64 << 20  # bytes in an archive beside the layers: far fewer
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz")


def listing(profile: str) -> list[runtime.StoredImage]:
    return stored_images(existing.running_node(profile))


def load(profile: str, sources: Sequence[str], report: Report, *, daemon: bool, remote: bool, pull: bool, overwrite: bool) -> None:
    """Each source is a file, a directory, `-` for stdin, or a name: of an engine on this machine first, then of a registry."""
    node = existing.running_node(profile)
    for source in sources:
        if pull:
            registryimages.pull(node, source, "GUEST_IMAGE_LOAD", origin(profile), report)
        elif not daemon and not remote and _is_file(source):
            tell(report, _load_file(node, source, report, overwrite=overwrite), source)
        else:
            anywhere = not daemon and not remote
            _load_by_name(node, source, origin(profile), report, (daemon or anywhere, remote or anywhere), overwrite=overwrite)


def origin(profile: str) -> Origin:
    """The registries and mirrors of a cluster."""
    return origin_of(profile_files.load(profile) or new_cluster_config(profile))


def _load_by_name(node: Node, name: str, origin: Origin, report: Report, where: tuple[bool, bool], *, overwrite: bool) -> None:
    """From docker or podman of this machine, else from its registry."""
    named(name, "GUEST_IMAGE_LOAD")
    daemon, remote = where
    why = ""
    if daemon:
        with tempfile.TemporaryDirectory(prefix="minikube-image-") as directory:
            archive = Path(directory, "image.tar")
            try:
                imagedaemons.save(name, archive)
            except imagedaemons.NoSuchImage as error:
                why = str(error)
            else:
                tell(report, load_archive(node, archive, report.progress, label=name, overwrite=overwrite), name)
                return
    if not remote:
        raise Reason("GUEST_IMAGE_LOAD", f"Failed to load image {name}: {why}", advice="`minikube image load FILE` takes archives.")
    try:
        tell(report, registryimages.load(node, name, origin, report, overwrite=overwrite), name)
    except Reason as reason:
        if why:
            reason.message = f"{reason.message}\nIt is not on this machine either: {why}"
        raise


def tell(report: Report, loaded: Loaded, source: str) -> None:
    if not loaded.names:
        report.info(f"Nothing to load: {source} is there already")
    for name in loaded.names:
        report.info(f"Loaded {name} ({loaded.moved / MEGA:.1f} of {loaded.size / MEGA:.1f} MB moved)")


def pull(profile: str, names: Sequence[str], report: Report) -> None:
    """From a registry, by the node itself."""
    node = existing.running_node(profile)
    for name in names:
        registryimages.pull(node, name, "GUEST_IMAGE_PULL", origin(profile), report)


def push(profile: str, names: Sequence[str], report: Report) -> None:
    node = existing.running_node(profile)
    for name in names:
        registryimages.push(node, name, origin(profile), report)


def remove(profile: str, names: Sequence[str], report: Report) -> None:
    """Only the name where the image has others, as upstream's users expect of docker; else the image."""
    node = existing.running_node(profile)
    for name in names:
        image = _find(stored_images(node), name)
        if image is None:
            report.warning(f"There is no image {name} in the cluster")
            continue
        whole = _tag_of(image, name)
        command = runtime.untag_command(whole) if whole and len(image.tags) > 1 else runtime.remove_command(whole or image.id)
        answer = node.run(command, timeout=120)
        if answer.code:
            raise Reason("GUEST_IMAGE_REMOVE", f"Failed to remove image {name}: {said(answer.stderr)}")


def tag(profile: str, source: str, target: str) -> None:
    node = existing.running_node(profile)
    image = _find(stored_images(node), source)
    if image is None:
        raise Reason("GUEST_IMAGE_TAG", f"Failed to tag image: there is no image {source} in the cluster", advice="minikube image ls")
    known = _tag_of(image, source) or (image.tags or image.digests or (f"sha256:{image.id}",))[0]
    answer = node.run(runtime.tag_command(known, named(target, "GUEST_IMAGE_TAG")), timeout=60)
    if answer.code:
        raise Reason("GUEST_IMAGE_TAG", f"Failed to tag image: {said(answer.stderr)}")


def fetch(node: Node, name: str, target: Path, report: Report) -> bool:
    """An image of the node into a file; False if it does not have it."""
    found = _find(stored_images(node), name) is not None
    if found:
        _save(node, name, str(target), report)
    return found


def save(profile: str, name: str, target: str, report: Report) -> None:
    """Into a file, or for `-` to stdout."""
    _save(existing.running_node(profile), name, target, report)


def _save(node: Node, name: str, target: str, report: Report) -> None:
    image = _require(node, name)
    if target == "-":
        if sys.stdout.isatty():
            raise Reason("MK_USAGE", "An archive is not for a terminal: redirect the output, or name a file.")
        sys.stdout.flush()
        _export(node, image, name, sys.stdout.fileno())
        return
    path = Path(target)
    try:
        descriptor, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise Reason("GUEST_IMAGE_SAVE", f"Failed to save image: {path.parent}: {error.strerror}") from error
    try:
        with report.progress.task(f"saving {name}") if image.size >= SHOWN_FROM else contextlib.nullcontext():
            _export(node, image, name, descriptor)
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        Path(part).replace(path)
    except OSError as error:
        raise Reason("GUEST_IMAGE_SAVE", f"Failed to save image: {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
        Path(part).unlink(missing_ok=True)


def named(text: str, id: str) -> str:
    """The full name; a reason with this id if it is none."""
    return str(registryimages.reference(text, id))


def _is_file(source: str) -> bool:
    """Also where no such file exists: nobody calls an image `app.tar`."""
    return source == "-" or source.startswith(("/", ".")) or source.endswith(_ARCHIVES) or Path(source).exists()


def _load_file(node: Node, source: str, report: Report, *, overwrite: bool) -> Loaded:
    if source != "-":
        return load_archive(node, Path(source), report.progress, overwrite=overwrite)
    with tempfile.NamedTemporaryFile(prefix="minikube-image-") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        stream.flush()
        return load_archive(node, Path(stream.name), report.progress, label="stdin", overwrite=overwrite)


def _require(node: Node, name: str) -> runtime.StoredImage:
    image = _find(stored_images(node), name)
    if image is None:
        raise Reason("GUEST_IMAGE_SAVE", f"Failed to save image: there is no image {name} in the cluster", advice="minikube image ls")
    return image


def _export(node: Node, image: runtime.StoredImage, name: str, sink: int) -> None:
    known = _tag_of(image, name) or (image.tags or image.digests or (f"sha256:{image.id}",))[0]
    with _at_most(sink, 2 * image.size + _MORE, name) as bounded:
        code, errors = node.control.transfer(runtime.export_command(known), sink=bounded)
    if code:
        raise registryimages.not_whole(said(errors), "GUEST_IMAGE_SAVE", f"Failed to save image {name}")


@contextlib.contextmanager
def _at_most(sink: int, most: int, name: str) -> Iterator[int]:
    """A place to write to that takes so many bytes and no more: what comes is as long as the node wants."""
    source, inlet = os.pipe()
    left = most
    trouble: list[OSError] = []

    def pass_on() -> None:
        nonlocal left
        try:
            while (data := os.read(source, 1 << 20)) and (left := left - len(data)) >= 0:
                while data:
                    data = data[os.write(sink, data) :]
        except OSError as error:
            trouble.append(error)
        finally:
            os.close(source)

    passing = threading.Thread(target=pass_on, daemon=True)
    passing.start()
    try:
        yield inlet
    finally:
        os.close(inlet)
        passing.join()
        if left < 0:
            raise Reason(
                "GUEST_IMAGE_SAVE", f"Failed to save image {name}: the node sends more than {most / MEGA:.0f} MB, which it cannot have"
            )
        if trouble:
            raise trouble[0]


def _find(images: Sequence[runtime.StoredImage], text: str) -> runtime.StoredImage | None:
    """By name, or by the beginning of its id."""
    short = text.removeprefix("sha256:")
    by_id = [image for image in images if len(short) >= 4 and image.id.startswith(short)]
    return next((image for image in images if _tag_of(image, text)), by_id[0] if len(by_id) == 1 else None)


def _tag_of(image: runtime.StoredImage, text: str) -> str:
    """The image's own name that the text means, or nothing."""
    try:
        whole = full_name(text)
    except ValueError:
        return ""
    return whole if whole in image.tags or whole in image.digests else ""
