"""A cold start from a mirror of the official releases and a registry, both on loopback: nothing else is asked for anything."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.fileserver import FileServer, file_server
from support.minikube import Minikube, Place
from support.nodeimage import fresh_name
from support.registryserver import registry_server
from support.releasemirror import fill_mirror, fill_registry, share_what_is_not_released
from support.world import world

from e2e.conftest import not_ready
from minikube.artifacts import releasedversions
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.origin import Origin
from minikube.artifacts.store import Store
from minikube.output.progress import silent


class Released(NamedTuple):
    """A cluster made of what the two servers had."""

    cluster: Minikube
    files: FileServer
    registry: str
    digests: dict[str, str]
    store: Path
    said: str


@pytest.fixture(scope="module")
def released(place: Place, node_image: Path) -> Iterator[Released]:
    directory = place.directory / "released"
    fill_mirror(directory / "mirror", DEFAULT)
    share_what_is_not_released(directory / "store", DEFAULT)
    elsewhere = Place(place.directory)
    # An empty proxy for everything that is not this machine: whoever asks the internet fails at once.
    elsewhere.environment |= {
        "MINIKUBE_STORE": str(directory / "store"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "192.168.0.0/16",  # clusters: kubectl reads these too
    }
    cluster = Minikube(elsewhere, fresh_name())
    with file_server(directory / "mirror") as files, registry_server(directory / "registry") as host:
        digests = fill_registry(host, directory, DEFAULT)
        said = cluster.start("--source=auto", f"--binary-mirror={files.url}", f"--image-repository={host}")
        try:
            yield Released(cluster, files, host, digests, directory / "store", said)
        finally:
            cluster.run("delete")


def test_it_says_where_components_come_from_and_how_much_that_was(released: Released) -> None:
    assert f"official releases ({released.files.url}" in released.said
    assert "Downloaded " in released.said


def test_the_pods_run_images_of_the_registry(released: Released) -> None:
    pods = released.cluster.get("pods", "-n", "kube-system")["items"]
    images = {container["image"] for pod in pods for container in pod["spec"]["containers"]}
    assert f"{released.registry}/kube-apiserver:{DEFAULT.kubernetes}" in images
    assert {image for image in images if not image.startswith(released.registry)} == {"gcr.io/k8s-minikube/storage-provisioner:v5"}
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}


def test_what_was_used_is_pinned(released: Released) -> None:
    pins = (released.store / "pins.json").read_text()
    assert all(digest in pins for digest in released.digests.values())
    assert f"{DEFAULT.kubernetes}/bin/linux" in pins


def test_the_bill_of_materials_has_what_was_pulled(released: Released) -> None:
    document = released.cluster.run("sbom").json()
    images = {package["name"]: package for package in document["packages"] if package["SPDXID"].startswith("SPDXRef-container-")}
    for name, digest in released.digests.items():
        image = images[f"{released.registry}/{name.rpartition(':')[0]}"]
        assert f"sha256:{image['checksums'][0]['checksumValue']}" == digest
    programs = {package["name"] for package in document["packages"] if package["SPDXID"].startswith("SPDXRef-program-")}
    assert {"kubelet", "kubeadm", "kubectl", "containerd", "runc", "crictl", "bridge", "storage-provisioner"} <= programs


def test_nothing_is_left_of_the_downloads(released: Released) -> None:
    assert not list((released.store / "downloads").iterdir())


def test_the_next_start_asks_nobody(released: Released) -> None:
    before = len(released.files.requests)
    assert "official releases" not in released.cluster.start()
    assert len(released.files.requests) == before


def test_kubeadm_itself_says_what_goes_with_it(released: Released) -> None:
    """That is how a version without pins is found out about; of this one it is known what it should say."""
    origin = Origin(binary_mirror=released.files.url)
    assert releasedversions.find_out(DEFAULT.kubernetes, origin, Store(released.store), silent()) == DEFAULT


def test_a_bundle_of_it_starts_a_cluster_where_nothing_can_be_reached(released: Released, node_image: Path) -> None:
    """Made of what the cluster is made of, mirrors and all; on a host without a route, and with an empty store."""
    with tempfile.TemporaryDirectory(prefix="mk-bundle-") as name:
        directory = Path(name)
        bundle = directory / "bundle.tar"
        released.cluster.ok("bundle", "create", f"--output={bundle}", timeout=120)
        with world(directory, node_image) as host:
            host.environment |= {"MINIKUBE_STORE": str(directory / "store")}
            elsewhere = Minikube(host, fresh_name())
            try:
                elsewhere.start(f"--bundle={bundle}")
                pods = elsewhere.get("pods", "-n", "kube-system")["items"]
                images = {container["image"] for pod in pods for container in pod["spec"]["containers"]}
                assert not not_ready(pods)
                assert f"{released.registry}/kube-apiserver:{DEFAULT.kubernetes}" in images
                assert sorted(path.name for path in (directory / "store").iterdir()) == [
                    "building",
                    "entries",
                    "locks",
                ]  # nothing was built
            finally:
                elsewhere.run("delete")


def test_registries_and_proxies_of_the_node(released: Released) -> None:
    """Another start, with a proxy that the node could reach and a registry that needs no certificate."""
    released.cluster.ok("stop")
    released.cluster.place.environment["HTTPS_PROXY"] = "http://me:secret@192.0.2.9:3128"
    flags = ("--insecure-registry=192.0.2.8:5000", "--registry-mirror=https://192.0.2.7", "--wait=apiserver")
    answer = released.cluster.run("start", *flags, timeout=300)
    said = answer.stdout + answer.stderr
    assert answer.code == 0, said
    assert "HTTP_PROXY is not passed to the node" in said
    assert "HTTPS_PROXY=http://me:…@192.0.2.9:3128; exempt are" in said
    assert "secret" not in said
    runtime = released.cluster.ssh("tr '\\0' '\\n' < /proc/$(pgrep -xo containerd)/environ")
    assert "HTTPS_PROXY=http://me:secret@192.0.2.9:3128" in runtime
    assert "10.96.0.0/12" in next(line for line in runtime.splitlines() if line.startswith("NO_PROXY="))
    hosts = released.cluster.ssh("cat /etc/containerd/certs.d/192.0.2.8:5000/hosts.toml /etc/containerd/certs.d/docker.io/hosts.toml")
    assert "http://192.0.2.8:5000" in hosts
    assert "https://192.0.2.7" in hosts
