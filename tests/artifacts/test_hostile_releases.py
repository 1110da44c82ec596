"""Mirrors of official releases that lie: about checksums, versions, programs and images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fileserver import FileServer, file_server
from support.hostileregistry import Answer, digest_of, hostile_registry, layer

from minikube.artifacts import releasedversions
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.imagearchive import machine_architecture
from minikube.artifacts.ocidocuments import MANIFEST
from minikube.artifacts.origin import Origin
from minikube.artifacts.release import Releases, kubeadm_recipe
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import silent
from minikube.output.reason import Reason

VERSION = "v1.30.1"


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[FileServer]:
    (tmp_path / "mirror").mkdir()
    with file_server(tmp_path / "mirror") as server:
        yield server


def publish(mirror: FileServer, name: str, content: bytes, **checksums: str) -> None:
    place = mirror.directory / VERSION / "bin/linux" / goarch() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    for algorithm, text in (checksums or {"sha512": hashlib.sha512(content).hexdigest()}).items():
        place.with_name(f"{name}.{algorithm}").write_text(text)


@pytest.mark.parametrize(
    "checksums",
    [
        {"sha256": "{outside}/x"},
        {"sha256": "a" * 128},
        {"sha512": "a" * 64},
        {"sha256": "../" * 20 + "a" * 4},
        {"sha256": "<html>not found</html>"},
        {"sha256": ""},
        {"sha512": "\0" * 128},
    ],
)
def test_checksums_by_form(tmp_path: Path, mirror: FileServer, checksums: dict[str, str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    publish(mirror, "kubeadm", b"program", **{name: text.format(outside=outside) for name, text in checksums.items()})
    store = Store(tmp_path / "store")
    with pytest.raises(Reason) as caught:
        store.provide(kubeadm_recipe(VERSION, store, Origin(binary_mirror=mirror.url)), silent())
    assert caught.value.id == "INET_BAD_CHECKSUM"
    assert list(outside.iterdir()) == []
    assert not list((tmp_path / "store").glob("entries/*"))


@pytest.mark.parametrize("text", ["v1.36.٣", "v1.36.1\nv1.36.2", "v1.36.../../x", "v1.37.1", "x" * 2000, "", "v1.36." + "9" * 9])
def test_the_newest_patch_by_form(mirror: FileServer, text: str) -> None:
    (mirror.directory / "stable-1.36.txt").write_text(text)
    with pytest.raises(Reason) as caught:
        releasedversions.newest_patch("v1.36", Origin(binary_mirror=mirror.url))
    assert caught.value.id in ("INET_VERSION_UNAVAILABLE", "INET_DOWNLOAD_FAILED")


def test_a_program_of_a_mirror_does_nothing_to_the_host(tmp_path: Path, mirror: FileServer) -> None:
    """The kubeadm of a version without pins is asked which images go with it."""
    names = "etcd:3.5.9-0 coredns:v1.11.1 pause:3.9"
    script = f"#!/bin/sh\necho broken out > {tmp_path}/outside\nfor name in {names}; do echo registry.k8s.io/$name; done\n"
    publish(mirror, "kubeadm", script.encode())
    with pytest.raises(Reason):
        releasedversions.find_out(VERSION, Origin(binary_mirror=mirror.url), Store(tmp_path / "store"), silent())
    assert not (tmp_path / "outside").exists()
    assert releasedversions.recorded(VERSION, tmp_path / "store") is None


def test_images_of_a_mirror(tmp_path: Path) -> None:
    """`start --image-repository` and `--image-mirror-country`."""
    outside = tmp_path / "outside"
    outside.mkdir()
    content = b"layer"
    store = Store(tmp_path / "store")
    with hostile_registry() as registry:
        registry.otherwise = lambda _path, _headers: Answer(content, MANIFEST)
        hostile = layer(content, digest=f"{outside}/x:y")
        registry.manifest(registry.image([hostile], [digest_of(content)], architecture=machine_architecture()))
        nothing = Recipe("", "", lambda _target, _progress: None)
        releases = Releases(DEFAULT, store, Origin(image_repository=registry.host), nothing)
        with pytest.raises(Reason, match="is not a digest"):
            store.provide(releases._image("etcd", f"{registry.host}/app:1"), silent())
    assert list(outside.iterdir()) == []
    assert not list((tmp_path / "store").glob("entries/*"))
