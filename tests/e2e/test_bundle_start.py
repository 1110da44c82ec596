"""A cluster from a bundle alone: no route to anywhere, an empty store, no program on the PATH, another distribution."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import manifests
from support.minikube import Minikube, Place
from support.nodeimage import fresh_name
from support.smallbundle import key_pair
from support.testimages import BUSYBOX, HTTP, build_test_images
from support.world import World, world

from e2e.conftest import Cluster, not_ready

ELSEWHERE = 'NAME="Void"\nID=void\nPRETTY_NAME="Void Linux"\n'


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mk-bundle-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def bundle(cluster: Cluster, node_image: Path, directory: Path) -> Path:
    """Made on this machine, with images of the user's from a file and from a cluster, and signed."""
    key_pair(directory)
    images = build_test_images(directory, node_image=node_image)
    words = (f"--image={images}", f"--image={BUSYBOX}", f"--sign={directory / 'key'}", f"--output={directory / 'bundle.tar'}")
    answer = cluster.place.run("bundle", "create", "-p", cluster.profile, *words, timeout=300)
    assert answer.code == 0, answer
    images.unlink()
    return directory / "bundle.tar"


@pytest.fixture(scope="module")
def elsewhere(directory: Path, node_image: Path) -> Iterator[World]:
    """A host without any route, with the name of another distribution, no tools, and nothing in its store."""
    (directory / "os-release").write_text(ELSEWHERE)
    (directory / "no-programs").mkdir()
    with world(directory, node_image) as host:
        subprocess.run([*host.enter(), "mount", "--bind", str(directory / "os-release"), "/etc/os-release"], check=True)
        host.environment |= {"PATH": str(directory / "no-programs"), "MINIKUBE_STORE": str(directory / "store")}
        try:
            yield host
        finally:
            answer = host.run("delete", "--all", "--purge", timeout=180)
            assert answer.code == 0, answer


def test_a_cluster_from_a_bundle_alone(bundle: Path, elsewhere: World, directory: Path) -> None:
    assert not [line for line in elsewhere.tool("ip", "route", "show", "table", "all").splitlines() if "dev lo" not in line]
    cluster = Minikube(elsewhere, fresh_name())
    said = cluster.start(f"--bundle={bundle}", f"--bundle-verify={directory / 'key.pub'}")
    assert "on Void" in said
    assert not not_ready(cluster.get("pods", "-A")["items"])
    assert sorted(path.name for path in (directory / "store").iterdir()) == ["building", "entries", "locks"]  # nothing was built

    cluster.apply(manifests.pod("theirs"))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/theirs", "--timeout=60s")
    assert cluster.get("pod", "theirs")["spec"]["containers"][0]["image"] == BUSYBOX

    again = elsewhere.run("bundle", "import", str(bundle), timeout=120)
    assert again.code == 0, again
    assert "0 components were imported" in again.stdout


def test_somebody_elses_bundle_is_refused(bundle: Path, place: Place, directory: Path) -> None:
    _, stranger = key_pair(directory, name="stranger")
    answer = place.run("start", "-p", fresh_name(), f"--bundle={bundle}", f"--bundle-verify={stranger}")
    assert answer.code == 37, answer
    assert "HOST_BUNDLE_UNTRUSTED" in answer.stderr


def test_what_is_in_it(bundle: Path, place: Place, directory: Path) -> None:
    answer = place.run("bundle", "inspect", str(bundle), "--verify", str(directory / "key.pub"), "-o", "json")
    assert answer.code == 0, answer
    found = json.loads(answer.stdout)
    assert found["kubernetes"] == ["v1.37.1"]
    assert found["verifiedAs"] == "alice@example.com"
    assert [set(image["names"]) for image in found["images"]] == [{BUSYBOX, HTTP}, {BUSYBOX}]
    assert {"node-image", "node-binaries", "kubernetes-v1.37.1"} <= {entry["name"] for entry in found["entries"]}
