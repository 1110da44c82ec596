"""Images in and out of a real cluster, with `minikube image` and `minikube cache`."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support.brokenprogram import instead_of, without_verb
from support.hostileregistry import Answer, digest_of, hostile_registry, layer
from support.minikube import Minikube, Place
from support.podman import make_podman, podman

from e2e.conftest import Cluster
from minikube.artifacts.imagearchive import machine_architecture, opened
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.artifacts.ocidocuments import MANIFEST

BASE, APP = "docker.io/library/image-test-base:1", "docker.io/library/image-test-app:1"
MEGABYTES = 48


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A large base image, and one that adds a few bytes to it, each as an archive with all its layers."""
    directory = tmp_path_factory.mktemp("images")
    (directory / "large").write_bytes(os.urandom(1 << 20) * MEGABYTES)
    base, top = (Entry("large", source=directory / "large"),), (Entry("word", content=b"hello"),)
    write_archive(directory / "base.tar", [Image(BASE, (base,))])
    write_archive(directory / "app.tar", [Image(APP, (base, top))])
    return {"base": directory / "base.tar", "app": directory / "app.tar"}


@pytest.fixture(scope="module")
def loaded(cluster: Cluster, archives: dict[str, Path]) -> Iterator[dict[str, str]]:
    """Both images in the cluster, one after the other; what `load` said of each."""
    yield {name: cluster.ok("image", "load", str(path)) for name, path in archives.items()}
    cluster.run("image", "rm", BASE, APP)


def moved(said: str) -> float:
    found = re.search(r"\(([\d.]+) of [\d.]+ MB moved\)", said)
    assert found, said
    return float(found[1])


def tags(cluster: Cluster) -> list[str]:
    return cluster.ok("image", "ls").split()


def test_only_missing_layers_are_moved(cluster: Cluster, loaded: dict[str, str], archives: dict[str, Path]) -> None:
    assert moved(loaded["base"]) > MEGABYTES
    assert moved(loaded["app"]) < 0.1
    assert moved(cluster.ok("image", "load", str(archives["base"]))) == 0
    assert {BASE, APP} <= set(tags(cluster))


def test_layers_that_are_only_unpacked_are_not_moved_either(cluster: Cluster, loaded: dict[str, str], archives: dict[str, Path]) -> None:
    """As it is with the cluster's own images, whose layers nobody keeps as blobs."""
    with opened(archives["base"]) as (image,):
        base = image.layers[0].digest
    cluster.ok("image", "rm", APP)
    cluster.ssh(f"ctr -n k8s.io content rm {base}")
    assert moved(cluster.ok("image", "load", str(archives["app"]))) < 0.1
    assert base not in cluster.ssh("ctr -n k8s.io content ls -q")
    # It is complete all the same: a container made of it sees the files of every layer.
    mounted = cluster.ssh(
        f"mkdir -p /tmp/look && ctr -n k8s.io images mount {APP} /tmp/look > /dev/null && wc -c < /tmp/look/large && cat /tmp/look/word; "
        "ctr -n k8s.io images unmount --rm /tmp/look > /dev/null"
    )
    assert mounted.split() == [str(MEGABYTES << 20), "hello"]


def test_a_runtime_that_does_not_tell_or_remove_images(cluster: Cluster, loaded: dict[str, str]) -> None:
    for verb, id, words in (("images", "GUEST_IMAGE_LIST", ["ls"]), ("rmi", "GUEST_IMAGE_REMOVE", ["rm", BASE])):
        with without_verb(cluster, "crictl", verb) as says:
            answer = cluster.run("image", *words)
        assert (answer.code, f"Exiting due to {id}: " in answer.stderr, says in answer.stderr) == (80, True, True), answer
    assert BASE in tags(cluster)


def test_formats(cluster: Cluster, loaded: dict[str, str]) -> None:
    as_json = cluster.run("image", "ls", "--format", "json").json()
    as_yaml = yaml.safe_load(cluster.ok("image", "ls", "--format", "yaml"))
    (app,) = (image for image in as_json if APP in image["repoTags"])
    assert as_json == as_yaml
    assert list(app) == ["id", "repoDigests", "repoTags", "size"]
    assert re.fullmatch("[0-9a-f]{64}", app["id"])
    assert int(app["size"]) > MEGABYTES << 20
    (row,) = (line for line in cluster.ok("image", "list", "--format", "table").splitlines() if "image-test-app" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["docker.io/library/image-test-app", "1", app["id"][:13], "50.4MB"]
    assert tags(cluster) == sorted(tags(cluster), reverse=True)
    assert cluster.run("image", "ls", "--format", "xml").code == 14


def test_tag_and_remove(cluster: Cluster, loaded: dict[str, str]) -> None:
    other = "registry.example/team/app:2"
    cluster.ok("image", "tag", "image-test-app:1", other)
    assert {APP, other} <= set(tags(cluster))
    cluster.ok("image", "rm", other)
    assert APP in tags(cluster)
    assert other not in tags(cluster)
    missing = cluster.run("image", "rm", other)
    assert (missing.code, "There is no image" in missing.stderr) == (0, True)
    refused = cluster.run("image", "tag", other, "x:1")
    assert refused.code == 80
    assert "GUEST_IMAGE_TAG" in refused.stderr


def test_save_and_load_again(cluster: Cluster, loaded: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "saved.tar"
    cluster.ok("image", "load", "-", input=small_archive(tmp_path).read_bytes())
    cluster.ok("image", "save", "image-test-small:1", str(target))
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    with opened(target) as (image,):
        assert image.names == ("docker.io/library/image-test-small:1",)
    stdout = subprocess.run(
        cluster.place.argv(cluster.words("image", "save", "image-test-small:1", "-")),
        env=cluster.place.environment, capture_output=True, check=True,
    ).stdout  # fmt: skip
    (tmp_path / "stdout.tar").write_bytes(stdout)
    cluster.ok("image", "rm", "image-test-small:1")
    with tarfile.open(target) as archive:
        archive.extractall(tmp_path / "layout", filter="data")
    for source in (target, tmp_path / "stdout.tar", tmp_path / "layout"):
        cluster.ok("image", "load", str(source))
        assert "docker.io/library/image-test-small:1" in tags(cluster)
        cluster.ok("image", "rm", "image-test-small:1")


def test_not_overwritten_if_not_wanted(cluster: Cluster, tmp_path: Path) -> None:
    name = "docker.io/library/image-test-small:1"
    cluster.ok("image", "load", str(small_archive(tmp_path)))
    before = identifier(cluster, name)
    other = small_archive(tmp_path, b"other")
    assert "there already" in cluster.ok("image", "load", "--overwrite=false", str(other))
    assert identifier(cluster, name) == before
    cluster.ok("image", "load", str(other))
    assert identifier(cluster, name) != before
    cluster.ok("image", "rm", name)


@pytest.mark.parametrize(
    ("words", "code", "id"),
    [
        (("load", "/nonexistent.tar"), 80, "GUEST_IMAGE_LOAD"),
        (("load", "/etc/passwd"), 80, "GUEST_IMAGE_LOAD"),
        (("load", "Not A Name"), 80, "GUEST_IMAGE_LOAD"),
        (("load", "--daemon", "image-test-nosuch:1"), 80, "GUEST_IMAGE_LOAD"),
        (("save", "image-test-nosuch:1", "/tmp/nosuch.tar"), 80, "GUEST_IMAGE_SAVE"),
        (("save", APP, "/nonexistent/x.tar"), 80, "GUEST_IMAGE_SAVE"),
        (("save", "registry.k8s.io/kube-proxy:v1.37.1", "/tmp/nosuch.tar"), 80, "GUEST_IMAGE_SAVE"),
        (("tag", APP), 14, "MK_USAGE"),
        (("load",), 14, "MK_USAGE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_refusals(cluster: Cluster, loaded: dict[str, str], words: tuple[str, ...], code: int, id: str) -> None:
    answer = cluster.run("image", *words)
    assert (answer.code, f"Exiting due to {id}" in answer.stderr) == (code, True), answer
    assert "Traceback" not in answer.stderr


def test_an_archive_with_a_wrong_layer_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    archive = small_archive(tmp_path, b"right" * 1000)
    archive.write_bytes(archive.read_bytes().replace(b"right", b"wrong"))
    answer = cluster.run("image", "load", str(archive))
    assert answer.code == 80
    assert "docker.io/library/image-test-small:1" not in tags(cluster)


def test_a_registry_that_lies_about_digests(cluster: Cluster, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with hostile_registry() as registry:
        registry.otherwise = lambda _path, _headers: Answer(b"content", MANIFEST)
        hostile = layer(b"content", digest=f"{outside}/x:y")
        registry.manifest(registry.image([hostile], [digest_of(b"content")], architecture=machine_architecture()))
        answer = cluster.run("image", "load", "--remote", f"{registry.host}/app:1")
    assert (answer.code, "is not a digest" in answer.stderr) == (80, True), answer
    assert list(outside.iterdir()) == []


def test_a_node_that_lies_about_images(cluster: Cluster, loaded: dict[str, str], tmp_path: Path) -> None:
    for listing in ("[]", "nonsense", '{"images": [{"id": 7}]}'):
        with instead_of(cluster, "crictl", "images", f"echo '{listing}'"):
            answer = cluster.run("image", "ls")
        assert (answer.code, "does not list its images" in answer.stderr) == (80, True), answer
    with instead_of(cluster, "ctr", "export", "exec cat /dev/zero"):
        answer = cluster.run("image", "save", APP, str(tmp_path / "saved.tar"))
    assert (answer.code, "the node sends more than" in answer.stderr) == (80, True), answer
    assert list(tmp_path.iterdir()) == []


def test_cache(cluster: Cluster, tmp_path: Path) -> None:
    """An image of a cluster goes to the cache, and from there into the cluster again, by `reload` and by `start`."""
    name = "docker.io/library/image-test-small:1"
    cluster.ok("image", "load", str(small_archive(tmp_path)))
    cluster.ok("image", "save", name)
    cluster.ok("cache", "add", name)  # no engine here has it, but the cluster does
    cached = cluster.place.home / "cache/images"
    assert [path.name for path in cached.glob("*/docker.io/library/*")] == ["image-test-small_1"]
    config = cluster.place.home / "config/config.json"
    assert json.loads(config.read_text())["cache"] == {name: None}
    try:
        assert cluster.place.run("cache", "list").stdout == f"{name}\n"
        assert cluster.place.run("cache", "list", "--format", "<{{.CacheImage}}>").stdout == f"<{name}>"
        for words in (("cache", "reload"), ("start",)):
            cluster.ok("image", "rm", name)
            cluster.ok(*words)
            assert name in tags(cluster)
        assert cluster.place.run("cache", "delete", name).code == 0
        assert cluster.place.run("cache", "list").stdout == ""
        assert not list(cached.glob("*/docker.io"))
        assert cluster.place.run("cache", "delete", name).code == 30
    finally:
        cluster.run("cache", "delete", name)
        cluster.run("image", "rm", name)


def test_podman(cluster: Cluster, tmp_path: Path) -> None:
    """An image of podman goes into the cluster, and one of the cluster to podman. docker is not there."""
    program = make_podman(tmp_path / "podman")
    podman(program, "load", "--input", str(small_archive(tmp_path)))
    elsewhere = Minikube(Place(cluster.place.directory), cluster.profile)
    elsewhere.place.environment |= {"PATH": str(program.parent), "DOCKER_HOST": "unix:///nonexistent"}
    assert "Loaded docker.io/library/image-test-small:1" in elsewhere.ok("image", "load", "image-test-small:1")
    try:
        elsewhere.ok("image", "tag", "image-test-small:1", "image-test-small:2")
        assert "to podman" in elsewhere.ok("image", "save", "--daemon", "image-test-small:2")
        assert "docker.io/library/image-test-small:2" in podman(program, "images", "--format", "{{.Repository}}:{{.Tag}}")
    finally:
        cluster.run("image", "rm", "image-test-small:1", "image-test-small:2")


def small_archive(directory: Path, content: bytes = b"x") -> Path:
    archive = directory / "small.tar"
    write_archive(archive, [Image("docker.io/library/image-test-small:1", ((Entry("x", content=content),),))])
    return archive


def identifier(cluster: Cluster, name: str) -> str:
    return str(next(image["id"] for image in cluster.run("image", "ls", "--format", "json").json() if name in image["repoTags"]))
