"""Bring images from this machine into a node, moving only what it does not have."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts import imagestream
from minikube.artifacts.digests import Digest
from minikube.artifacts.imagearchive import ArchivedImage, NotAnImage, opened
from minikube.drivers.base import Node
from minikube.output.progress import Progress
from minikube.output.reason import Reason
from minikube.runtimes import images as runtime

SHOWN_FROM = 16 << 20  # bytes: less is there before anybody wonders
_MEGA = 1e6
_PIPE = 1 << 20
_ARRIVING = "minikube.local/arriving"  # what an image is called until it is whole


class Loaded(NamedTuple):
    """What was brought in: names, the bytes of all its layers, and those that had to be moved."""

    names: tuple[str, ...]
    size: int
    moved: int


def load_archive(node: Node, path: Path, progress: Progress, *, label: str = "", overwrite: bool = True) -> Loaded:
    """Every image of an archive or OCI directory."""
    try:
        with opened(path) as images:
            return load_images(node, images, progress, label or str(path), overwrite=overwrite)
    except (NotAnImage, ValueError) as error:
        raise Reason(
            "GUEST_IMAGE_LOAD",
            f"Failed to load image {label or path}: {error}",
            advice="Write one with `docker save`, `podman save`, or as an OCI layout.",
        ) from error
    except OSError as error:
        raise Reason("GUEST_IMAGE_LOAD", f"Failed to load image {label or path}: {error.strerror or error}") from error


def stored_images(node: Node) -> list[runtime.StoredImage]:
    answer = node.run(runtime.LIST, timeout=120)
    if answer.code:
        raise Reason("GUEST_IMAGE_LIST", f"Failed to list images: {said(answer.stderr)}", advice="minikube logs")
    try:
        return runtime.read_list(answer.stdout)
    except runtime.Nonsense as error:
        raise Reason("GUEST_IMAGE_LIST", f"Failed to list images: {error}", advice="minikube logs") from None


def said(stderr: bytes) -> str:
    """What a program in the node gave as its reason: its last word, without the ornaments of its log."""
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip() and "level=warning" not in line]
    last = lines[-1].strip() if lines else ""
    _, logged, message = last.partition('level=fatal msg="')
    return (message.removesuffix('"').replace('\\"', '"') if logged else last.removeprefix("ctr: "))[-2000:] or "no reason was given"


def _without_known(node: Node, images: Sequence[ArchivedImage]) -> list[ArchivedImage]:
    known = {tag for image in stored_images(node) for tag in image.tags}
    left = [image._replace(names=tuple(name for name in image.names if name not in known)) for image in images]
    return [image for image in left if image.names]


def load_images(
    node: Node,
    images: Sequence[ArchivedImage],
    progress: Progress,
    label: str,
    *,
    overwrite: bool = True,
    fetch: Callable[[Collection[Digest]], None] = lambda _digests: None,
) -> Loaded:
    """Images whose layers may still have to be fetched: only those are that the node does not have."""
    images = images if overwrite else _without_known(node, images)
    if not images:
        return Loaded((), 0, 0)
    names = tuple(_names(images))
    sizes = {layer.digest: layer.size for image in images for layer in image.layers}
    there = _there(node, images)
    try:
        fetch(sizes.keys() - there)
        moved = _stream(node, images, there, progress, label)
    except _Refused as refused:
        # What was there a moment ago may have been collected since.
        if not there or "not found" not in str(refused):
            raise _failed(label, str(refused)) from None
        try:
            fetch(there)
            moved = _stream(node, images, frozenset(), progress, label)
        except _Refused as again:
            raise _failed(label, str(again)) from None
    return Loaded(names, sum(sizes.values()), moved)


def _there(node: Node, images: Sequence[ArchivedImage]) -> frozenset[Digest]:
    """Layers that need not be moved: their blob is in the node, or they are unpacked there already, which is all containerd looks for."""
    answer = node.run(runtime.INVENTORY, timeout=60)
    if answer.code:
        raise Reason("GUEST_IMAGE_LOAD", f"The node cannot say which images it has: {said(answer.stderr)}", advice="minikube logs")
    inventory = runtime.read_inventory(answer.stdout)
    there: set[Digest] = set()
    needed: set[Digest] = set()
    for image in images:
        for layer, chain in zip(image.layers, runtime.chain_ids([layer.diff_id for layer in image.layers]), strict=True):
            (there if layer.digest in inventory.blobs or chain in inventory.chains else needed).add(layer.digest)
            if layer.piece is None and layer.digest in needed:
                raise NotAnImage(f"the layer {layer.digest} is neither in the archive nor in the node")
    # The same layer may be unpacked on top of one base and not yet on top of another.
    return frozenset(there - needed)


def _names(images: Sequence[ArchivedImage]) -> list[str]:
    return list(dict.fromkeys(name for image in images for name in image.names))


class _Refused(Exception):
    """The node did not take the images; its words."""


def _stream(node: Node, images: Sequence[ArchivedImage], there: frozenset[Digest], progress: Progress, label: str) -> int:
    total = sum({layer.digest: layer.size for image in images for layer in image.layers if layer.digest not in there}.values())
    names = {f"{_ARRIVING}:{number}-{secrets.token_hex(4)}": name for number, name in enumerate(_names(images))}
    called = {name: arriving for arriving, name in names.items()}
    arriving = [image._replace(names=tuple(called[name] for name in image.names)) for image in images]
    source, sink = os.pipe()
    with contextlib.suppress(OSError):  # a user may have only so much in pipes
        fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, _PIPE)
    trouble: list[BaseException] = []
    moved = 0
    task = progress.task(f"loading {label}", total / _MEGA, "MB") if total >= SHOWN_FROM else None

    def count(number: int) -> None:
        nonlocal moved
        moved += number
        if task:
            task.set(moved / _MEGA)
            if moved >= total:
                task.note("unpacking")

    def fill() -> None:
        try:
            imagestream.write(sink, arriving, without=there, moved=count)
        except BrokenPipeError:
            pass  # the other end says why
        except (OSError, EOFError) as error:
            trouble.append(error)
        finally:
            os.close(sink)

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    try:
        try:
            code, errors = node.control.transfer(runtime.import_command(names), source=source)
        finally:
            os.close(source)
            filling.join()
        if trouble:
            raise OSError(str(trouble[0]))
        if code:
            raise _Refused(said(errors))
    except BaseException:
        if task:
            task.failed()
        raise
    if task:
        task.done()
    return moved


def _failed(label: str, why: str) -> Reason:
    return Reason("GUEST_IMAGE_LOAD", f"Failed to load image {label}: {why}", advice="minikube logs")
