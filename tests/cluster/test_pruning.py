"""`minikube cache prune` on stores and homes made for it: what goes, what stays, and that nothing in use ever goes."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.minikube import Answer, Place

from minikube.artifacts import catalogue
from minikube.artifacts.origin import Origin
from minikube.artifacts.sources import recipes_of
from minikube.artifacts.store import Store
from minikube.artifacts.storeusage import bulk, freed, names_needed
from minikube.profiles.clusterconfig import encode, new_cluster_config


class World:
    """A home and a store of their own."""

    def __init__(self, directory: Path) -> None:
        self.place = Place(directory)
        self.store = directory / "store"
        self.place.environment["MINIKUBE_STORE"] = str(self.store)

    def entry(self, name: str, *, old: bool = True) -> Path:
        content = self.store / "entries" / name / "content"
        content.mkdir(parents=True)
        (content / "file").write_bytes(b"x" * 10_000)
        if old:
            os.utime(content.parent, (0, 0))
        return content

    def machine(self, name: str, **native: str) -> None:
        directory = self.place.home / "machines" / name
        directory.mkdir(parents=True)
        (directory / "native.json").write_text(json.dumps(native, indent=2))

    def prune(self, *flags: str) -> Answer:
        return self.place.run("cache", "prune", *flags)

    def entries(self) -> set[str]:
        return {path.name for path in (self.store / "entries").iterdir()}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    yield World(tmp_path)


def test_what_a_machine_uses_stays_and_the_rest_goes(world: World) -> None:
    used = world.entry("node-image-aaaaaaaaaaaa")
    world.entry("node-image-bbbbbbbbbbbb")
    world.entry("made-now-cccccccccccc", old=False)
    world.machine("stopped", node_image=str(used), subnet="192.168.49.0/24")
    shown = world.prune("--dry-run")
    assert shown.code == 0
    rows = {line.split("│")[1].strip(): line.split("│")[3].strip() for line in shown.stdout.splitlines() if line.count("│") == 4}
    assert rows["node-image-aaaaaaaaaaaa"] == "cluster stopped"
    assert rows["node-image-bbbbbbbbbbbb"] == "can go"
    assert rows["made-now-cccccccccccc"] == "made just now"
    assert len(world.entries()) == 3
    assert world.prune("--yes").code == 0
    assert world.entries() == {"node-image-aaaaaaaaaaaa", "made-now-cccccccccccc"}
    assert world.prune("--yes", "--all").code == 0
    assert world.entries() == {"node-image-aaaaaaaaaaaa"}
    assert "Nothing can go" in world.prune("--yes", "--all").stdout


def test_what_the_next_start_needs_goes_only_with_all(world: World) -> None:
    wanted = names_needed(recipes_of(catalogue.DEFAULT, Origin(), "modules", Store(world.store)))
    assert len(wanted) > 8
    for name in wanted:
        world.entry(name)
    assert world.prune("--yes").code == 0
    assert world.entries() == wanted
    assert world.prune("--yes", "--all").code == 0
    assert world.entries() == set()


def test_what_a_cluster_from_releases_needs_stays_also_while_it_has_no_machine(world: World) -> None:
    origin = Origin(image_repository="registry.example/mirror")
    theirs = names_needed(recipes_of(catalogue.DEFAULT, origin, "release", Store(world.store)))
    others = names_needed(recipes_of(catalogue.DEFAULT, Origin(), "release", Store(world.store))) - theirs
    assert any(name.startswith("release-image-") for name in others)
    for name in theirs | others:
        world.entry(name)
    config = new_cluster_config("lab")
    config.ComponentSource = "release"
    config.KubernetesConfig.KubernetesVersion = catalogue.DEFAULT.kubernetes
    config.KubernetesConfig.ImageRepository = origin.image_repository
    file = world.place.home / "profiles/lab/config.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(encode(config))
    assert world.prune("--yes", "--all").code == 0
    assert world.entries() == theirs


def test_what_a_running_process_stands_on_stays_whichever_home_it_is_of(world: World) -> None:
    content = world.entry("somebodys-program-dddddddddddd")
    program = content / "sleep"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    process = subprocess.Popen([program, "60"])
    try:
        assert "a running cluster of another home" in world.prune("--yes", "--all").stdout
        assert world.entries() == {"somebodys-program-dddddddddddd"}
    finally:
        process.kill()
        process.wait()
    world.prune("--yes", "--all")
    assert world.entries() == set()


def test_nothing_of_a_build_that_goes_on_is_taken(world: World) -> None:
    world.entry("half-made-eeeeeeeeeeee")
    for place in ("go/build/x", "building/half-made-eeeeeeeeeeee.1", "downloads"):
        (world.store / place).mkdir(parents=True)
    (world.store / "locks").mkdir()
    with (world.store / "locks/half-made-eeeeeeeeeeee.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = world.prune("--yes", "--all")
        assert "half-made-eeeeeeeeeeee could not be removed" in answer.stderr
        assert (world.store / "go/build/x").exists()
        assert (world.store / "building/half-made-eeeeeeeeeeee.1").exists()
        assert world.entries() == {"half-made-eeeeeeeeeeee"}


def test_compiled_packages_stay_while_something_has_to_be_built(world: World) -> None:
    (world.store / "go/build").mkdir(parents=True)
    (world.store / "go/mod/read-only").mkdir(parents=True)
    (world.store / "go/mod/read-only").chmod(0o555)
    assert "the build of what is missing" in world.prune("--yes").stdout
    assert (world.store / "go/build").exists()
    for name in names_needed(recipes_of(catalogue.DEFAULT, Origin(), "modules", Store(world.store))):
        world.entry(name)
    assert world.prune("--yes").code == 0
    assert not (world.store / "go/build").exists()
    assert (world.store / "go/mod").exists()


def test_images_stay_as_long_as_they_are_in_the_cache(world: World) -> None:
    world.entry("x-ffffffffffff")
    from minikube.artifacts.imagearchive import machine_architecture

    images = world.place.home / "cache/images" / machine_architecture() / "docker.io/library"
    images.mkdir(parents=True)
    for name in ("kept_1", "saved_1"):
        (images / name).write_bytes(b"archive")
    (world.place.home / "config").mkdir()
    (world.place.home / "config/config.json").write_text('{"cache": {"docker.io/library/kept:1": null}}')
    assert world.prune("--yes", "--all").code == 0
    assert [path.name for path in images.iterdir()] == ["kept_1"]


def test_without_anybody_to_ask_nothing_goes(world: World) -> None:
    world.entry("x-ffffffffffff")
    answer = world.prune()
    assert (answer.code, "--yes" in answer.stderr) == (14, True)
    assert world.entries() == {"x-ffffffffffff"}


def test_shared_files_come_free_with_their_last_name(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    (tmp_path / "a/file").write_bytes(os.urandom(100_000))
    (tmp_path / "b/file").hardlink_to(tmp_path / "a/file")
    one, other = bulk(tmp_path / "a"), bulk(tmp_path / "b")
    assert one.size >= 100_000 <= other.size
    assert freed([one]) < 100_000 <= freed([one, other]) < 200_000
