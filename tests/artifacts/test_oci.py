"""The OCI writer: what it writes is a valid layout, the same each time, and holds what was asked for."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from minikube.artifacts.oci import Entry, Image, image_ids, tree_layer, write_archive


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "binary"
    path.write_bytes(os.urandom(300_000))
    return path


def images(binary: Path) -> list[Image]:
    shared = (Entry("usr/local/bin/tool", source=binary), Entry("usr/local/bin/alias", target="tool"), Entry("tmp", 0o1777))
    return [
        Image("registry.example/a:v1", (shared,), entrypoint=("tool",), user="7:7", ports=("53/udp", "53/tcp")),
        Image("registry.example/b:v1", (shared, (Entry("etc/x", 0o644, content=b"x"),)), entrypoint=("alias",), command=("--flag",)),
    ]


def blobs(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def manifest_and_config(files: dict[str, bytes], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    index = json.loads(files["index.json"])
    found = next(entry for entry in index["manifests"] if entry["annotations"]["io.containerd.image.name"] == name)
    manifest = json.loads(files[f"blobs/sha256/{found['digest'][7:]}"])
    return manifest, json.loads(files[f"blobs/sha256/{manifest['config']['digest'][7:]}"])


def test_two_writes_give_the_same_bytes(tmp_path: Path, binary: Path) -> None:
    write_archive(tmp_path / "one.tar", images(binary))
    os.utime(binary, (1, 1))
    write_archive(tmp_path / "two.tar", images(binary))
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_every_blob_has_the_digest_and_size_it_is_named_by(tmp_path: Path, binary: Path) -> None:
    write_archive(tmp_path / "a.tar", images(binary))
    files = blobs(tmp_path / "a.tar")
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    for entry in json.loads(files["index.json"])["manifests"]:
        manifest = json.loads(files[f"blobs/sha256/{entry['digest'][7:]}"])
        for descriptor in [entry, manifest["config"], *manifest["layers"]]:
            assert len(files[f"blobs/sha256/{descriptor['digest'][7:]}"]) == descriptor["size"]
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}


def test_a_layer_of_two_images_is_stored_once(tmp_path: Path, binary: Path) -> None:
    write_archive(tmp_path / "a.tar", images(binary))
    files = blobs(tmp_path / "a.tar")
    first, _ = manifest_and_config(files, "registry.example/a:v1")
    second, _ = manifest_and_config(files, "registry.example/b:v1")
    assert first["layers"][0] == second["layers"][0]
    assert (tmp_path / "a.tar").stat().st_size < 2 * binary.stat().st_size


def test_equal_content_from_different_files_is_stored_once(tmp_path: Path, binary: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(binary.read_bytes())
    pair = [Image(f"x/{name}:1", ((Entry("tool", source=path),),)) for name, path in (("a", binary), ("b", copy))]
    write_archive(tmp_path / "a.tar", pair)
    assert (tmp_path / "a.tar").stat().st_size < 2 * binary.stat().st_size
    assert set(image_ids(tmp_path / "a.tar")) == {"x/a:1", "x/b:1"}


def test_a_layer_holds_files_links_modes_and_parents(tmp_path: Path, binary: Path) -> None:
    write_archive(tmp_path / "a.tar", images(binary))
    files = blobs(tmp_path / "a.tar")
    manifest, config = manifest_and_config(files, "registry.example/a:v1")
    layer = tmp_path / "layer.tar"
    layer.write_bytes(files[f"blobs/sha256/{manifest['layers'][0]['digest'][7:]}"])
    with tarfile.open(layer) as tar:
        names = tar.getnames()
        assert names == ["tmp", "usr", "usr/local", "usr/local/bin", "usr/local/bin/alias", "usr/local/bin/tool"]
        assert tar.getmember("tmp").mode == 0o1777
        assert tar.getmember("usr/local").isdir()
        assert tar.getmember("usr/local/bin/alias").linkname == "tool"
        assert tar.extractfile("usr/local/bin/tool").read() == binary.read_bytes()  # type: ignore[union-attr]
        assert all((member.mtime, member.uid, member.gid) == (0, 0, 0) for member in tar)
    assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
    assert config["config"]["Entrypoint"] == ["tool"]
    assert config["config"]["User"] == "7:7"
    assert config["config"]["ExposedPorts"] == {"53/tcp": {}, "53/udp": {}}


def test_image_ids_are_the_config_digests(tmp_path: Path, binary: Path) -> None:
    write_archive(tmp_path / "a.tar", images(binary))
    manifest, _ = manifest_and_config(blobs(tmp_path / "a.tar"), "registry.example/b:v1")
    assert image_ids(tmp_path / "a.tar")["registry.example/b:v1"] == manifest["config"]["digest"]


def test_a_tree_becomes_a_layer(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    (tree / "bin/tool").write_text("#!/bin/sh\n")
    (tree / "bin/tool").chmod(0o750)
    (tree / "sbin").symlink_to("bin")
    layer = {entry.path: entry for entry in tree_layer(tree, prefix="opt")}
    assert layer["opt/bin"].source is None
    assert layer["opt/bin/tool"].mode == 0o750
    assert layer["opt/bin/tool"].source == tree / "bin/tool"
    assert layer["opt/sbin"].target == "bin"
