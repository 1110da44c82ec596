"""Archives as docker, podman and others write them, and as nobody should."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from minikube.artifacts import imagestream
from minikube.artifacts.imagearchive import ArchivedImage, NotAnImage, machine_architecture, opened
from minikube.artifacts.oci import Entry, Image, write_archive

BASE = (Entry("base", content=b"b" * 100_000),)
TOP = (Entry("top", content=b"t" * 1000),)


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read(path: Path) -> list[ArchivedImage]:
    with opened(path) as images:
        return images


def write_tar(path: Path, files: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def docker_archive(path: Path, layers: list[bytes], *, plain: list[bytes] | None = None, tags: list[str] | None = None) -> Path:
    """As `docker save` wrote them for ten years: a directory for each layer, equal ones as links."""
    config = json.dumps({"rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in plain or layers]}}).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    files, links, places = {name: config}, dict[str, str](), list[str]()
    for number, layer in enumerate(layers):
        place = f"{number}/layer.tar"
        if layer in layers[:number]:
            links[place] = f"../{layers.index(layer)}/layer.tar"
        else:
            files[place] = layer
        places.append(place)
    files["manifest.json"] = json.dumps([{"Config": name, "RepoTags": tags, "Layers": places}]).encode()
    return write_tar(path, files, links)


def layout(directory: Path, image: Image) -> Path:
    archive = directory / "layout.tar"
    write_archive(archive, [image])
    target = directory / "layout"
    with tarfile.open(archive) as stream:
        stream.extractall(target, filter="data")
    return target


def test_oci_archive(tmp_path: Path) -> None:
    archive = tmp_path / "images.tar"
    write_archive(archive, [Image("example.org/a:1", (BASE,)), Image("example.org/b:1", (BASE, TOP))])
    first, second = read(archive)
    assert (first.names, second.names) == (("example.org/a:1",), ("example.org/b:1",))
    assert first.layers[0] == second.layers[0]
    assert all(layer.digest == layer.diff_id for layer in second.layers)  # nothing is compressed
    assert second.size == sum(layer.size for layer in second.layers) > 100_000


def test_oci_directory_is_the_same_as_its_archive(tmp_path: Path) -> None:
    directory = layout(tmp_path, Image("example.org/a:1", (BASE,)))
    (from_directory,), (from_archive,) = read(directory), read(tmp_path / "layout.tar")
    assert from_directory.manifest == from_archive.manifest
    assert from_directory.layers[0].digest == from_archive.layers[0].digest


def test_docker_archive_with_links(tmp_path: Path) -> None:
    (image,) = read(docker_archive(tmp_path / "x.tar", [b"one" * 500, b"two", b"one" * 500], tags=["app:1", "localhost/app:2"]))
    assert image.names == ("docker.io/library/app:1", "localhost/app:2")
    assert [layer.size for layer in image.layers] == [1500, 3, 1500]
    assert image.layers[0].digest == image.layers[2].digest == digest(b"one" * 500)
    assert json.loads(image.manifest)["config"]["digest"] == image.id == digest(image.config)


def test_docker_archive_with_compressed_layers(tmp_path: Path) -> None:
    packed = gzip.compress(b"layer")
    (image,) = read(docker_archive(tmp_path / "x.tar", [packed], plain=[b"layer"], tags=["app:1"]))
    assert image.layers[0].digest == digest(packed)
    assert image.layers[0].diff_id == digest(b"layer")
    assert json.loads(image.manifest)["layers"][0]["mediaType"].endswith("tar+gzip")


@pytest.mark.parametrize("tags", [None, []])
def test_without_a_name_the_file_gives_it(tmp_path: Path, tags: list[str] | None) -> None:
    (image,) = read(docker_archive(tmp_path / "My_App.tar", [b"x"], tags=tags))
    assert image.names == ("docker.io/library/my-app:latest",)


def test_compressed_archive(tmp_path: Path) -> None:
    plain = docker_archive(tmp_path / "x.tar", [b"x"], tags=["app:1"])
    packed = tmp_path / "x.tar.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with opened(packed) as (image,):
        piece = image.layers[0].piece
        assert image.names == ("docker.io/library/app:1",)
        assert piece is not None
        assert piece.read() == b"x"


def test_index_of_several_platforms_and_both_forms_of_names(tmp_path: Path) -> None:
    """What docker 25 and later write: an OCI layout whose index leads to another, and manifest.json beside it."""
    config = json.dumps({"rootfs": {"diff_ids": [digest(b"layer")]}}).encode()
    manifest = json.dumps({"config": {"digest": digest(config)}, "layers": [{"digest": digest(b"layer"), "size": 5}]}).encode()
    platforms = [("s390x", digest(b"other")), ("unknown", digest(b"attestation")), (machine_architecture(), digest(manifest))]
    nested = json.dumps({"manifests": [{"digest": d, "platform": {"os": "linux", "architecture": a}} for a, d in platforms]}).encode()
    index = {"manifests": [{"digest": digest(nested), "annotations": {"org.opencontainers.image.ref.name": "localhost/app:1"}}]}
    blobs = {f"blobs/sha256/{digest(blob)[7:]}": blob for blob in (config, manifest, nested, b"layer")}
    docker = [{"Config": f"blobs/sha256/{digest(config)[7:]}", "RepoTags": ["other:1"], "Layers": [f"blobs/sha256/{digest(b'layer')[7:]}"]}]
    archive = write_tar(
        tmp_path / "x.tar", {**blobs, "index.json": json.dumps(index).encode(), "manifest.json": json.dumps(docker).encode()}
    )
    (image,) = read(archive)
    assert image.names == ("localhost/app:1", "docker.io/library/other:1")
    assert image.manifest == manifest


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "there is no image"),
        ({"index.json": b"{"}, "cannot be understood"),
        ({"index.json": b'{"manifests": []}'}, "there is no image"),
        ({"index.json": b'{"manifests": {}}'}, "cannot be understood"),
        ({"index.json": b'{"manifests": [{"digest": "sha256:../../../etc/passwd"}]}'}, "is not a digest"),
        ({"manifest.json": b'[{"Config": "a.json", "Layers": []}]'}, "a.json is missing"),
        ({"manifest.json": b'[{"Config": "a", "Layers": ["b"]}]', "a": b'{"rootfs": {"diff_ids": []}}'}, "not as many layers"),
        ({"manifest.json": b'[{"Config": "a", "Layers": []}]', "a": b"[]"}, "cannot be understood"),
        ({"manifest.json": b"17"}, "cannot be understood"),
    ],
)
def test_damaged_archives(tmp_path: Path, files: dict[str, bytes], why: str) -> None:
    with pytest.raises(NotAnImage, match=why):
        read(write_tar(tmp_path / "x.tar", files))


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    garbage, zstd, short = tmp_path / "garbage", tmp_path / "zstd", tmp_path / "short"
    garbage.write_bytes(b"not a tar" * 1000)
    zstd.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    whole = docker_archive(tmp_path / "x.tar", [os.urandom(50_000)], tags=["a:1"]).read_bytes()
    short.write_bytes(whole[:30_000])
    for path, why in ((garbage, "is not an archive"), (zstd, "zstd"), (short, "ends in the middle|is not an archive")):
        with pytest.raises(NotAnImage, match=why):
            read(path)
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(whole)[:-500])
    with pytest.raises(NotAnImage, match="cannot be unpacked"):
        read(broken)


def test_links_in_a_circle(tmp_path: Path) -> None:
    manifest = json.dumps([{"Config": "a", "Layers": []}]).encode()
    with pytest.raises(NotAnImage, match="a is missing"):
        read(write_tar(tmp_path / "x.tar", {"manifest.json": manifest}, {"a": "b", "b": "a"}))


def test_stream_leaves_out_what_is_not_wanted_and_reads_back(tmp_path: Path) -> None:
    archive, stream = tmp_path / "images.tar", tmp_path / "stream.tar"
    write_archive(archive, [Image("example.org/a:1", (BASE,)), Image("example.org/b:1", (BASE, TOP))])
    counted: list[int] = []
    with opened(archive) as images, stream.open("wb") as sink:
        base, top = images[1].layers
        imagestream.write(sink.fileno(), images, without={base.digest}, moved=counted.append)
    assert sum(counted) == top.size
    first, second = read(stream)
    assert first.names == ("example.org/a:1",)
    assert [layer.piece is None for layer in (*first.layers, *second.layers)] == [True, True, False]
    assert second.layers[1].piece is not None
    assert digest(second.layers[1].piece.read()) == top.digest
    with tarfile.open(stream) as written:
        contents: dict[str, Any] = {member.name: member.size for member in written}
    assert list(contents)[-2:] == ["index.json", "oci-layout"]
