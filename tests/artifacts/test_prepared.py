"""The prepared containerd store and its clones."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from pathlib import Path

import pytest

from minikube.artifacts.oci import Entry, Image, image_ids, write_archive
from minikube.artifacts.prepared import _disarm, build_prepared_store, private_containerd
from minikube.artifacts.storeclone import clone_store
from minikube.host.process import run
from minikube.host.untrustedtree import Tree
from minikube.output.reason import Reason

SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs/snapshots"
SEEN_AT = "/usr/lib/layers"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "prepared"
    large, small = root / SNAPSHOTS / "1", root / SNAPSHOTS / "2"
    (large / "fs/bin").mkdir(parents=True)
    (large / "fs/tmp").mkdir()
    (large / "fs/tmp").chmod(0o1777)
    (large / "fs/bin/tool").write_bytes(b"tool" * (1 << 20))
    (large / "fs/bin/alias").symlink_to("tool")
    (large / "work").mkdir(mode=0o711)
    (small / "fs").mkdir(parents=True)
    (small / "fs/pause").write_bytes(b"pause")
    (root / "metadata.db").write_bytes(b"database")
    (root / "metadata.db").chmod(0o600)
    return root


def clone(store: Path, place: Path) -> tuple[Path, Path]:
    """A node's store and the layers beside it."""
    clone_store(store, Tree(place), "node/store", layers=place / "layers", seen_at=SEEN_AT)
    return place / "node/store", place / "layers"


def test_large_layers_are_shared_outside_the_nodes_store(store: Path, tmp_path: Path) -> None:
    node, layers = clone(store, tmp_path)
    assert (layers / "1/bin/tool").samefile(store / SNAPSHOTS / "1/fs/bin/tool")
    assert (node / SNAPSHOTS / "1/fs").readlink() == Path(SEEN_AT, "1")
    assert not (layers / "2").exists()


def test_what_the_node_can_write_to_is_its_own(store: Path, tmp_path: Path) -> None:
    node, _ = clone(store, tmp_path)
    (node / "metadata.db").write_bytes(b"changed")
    (node / SNAPSHOTS / "2/fs/pause").write_bytes(b"changed")
    assert (store / "metadata.db").read_bytes() == b"database"
    assert (store / SNAPSHOTS / "2/fs/pause").read_bytes() == b"pause"
    assert [path for path in node.rglob("*") if path.is_file() and path.stat().st_nlink > 1] == []


def test_links_modes_and_empty_directories_are_kept(store: Path, tmp_path: Path) -> None:
    node, layers = clone(store, tmp_path)
    assert (layers / "1/bin/alias").readlink() == Path("tool")
    assert (layers / "1/tmp").stat().st_mode & 0o7777 == 0o1777
    assert (node / SNAPSHOTS / "1/work").stat().st_mode & 0o7777 == 0o711
    assert (node / "metadata.db").stat().st_mode & 0o7777 == 0o600


def test_what_a_killed_clone_left_is_replaced(store: Path, tmp_path: Path) -> None:
    (tmp_path / "node/store.unfinished/snapshots").mkdir(parents=True)
    (tmp_path / "node/store.unfinished/rest").write_text("half")
    (tmp_path / "layers/9").mkdir(parents=True)
    node, layers = clone(store, tmp_path)
    assert not (node / "rest").exists()
    assert not (layers / "9").exists()
    assert not (tmp_path / "node/store.unfinished").exists()


def test_a_store_in_use_is_not_overwritten(store: Path, tmp_path: Path) -> None:
    (tmp_path / "node/store").mkdir(parents=True)
    (tmp_path / "node/store/images").write_text("mine")
    with pytest.raises(OSError, match="not empty"):
        clone(store, tmp_path)
    assert (tmp_path / "node/store/images").read_text() == "mine"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no second file system to clone to")
def test_another_file_system_gets_copies(store: Path) -> None:
    other = Path("/dev/shm", f"minikube-test-{os.getpid()}")
    if other.parent.stat().st_dev == store.stat().st_dev:
        pytest.skip("the temporary directory is on the same file system")
    try:
        other.mkdir()
        _, layers = clone(store, other)
        assert (layers / "1/bin/tool").read_bytes() == b"tool" * (1 << 20)
        assert (layers / "1/bin/alias").readlink() == Path("tool")
    finally:
        shutil.rmtree(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="device files and capabilities are root's to give")
def test_no_file_of_an_image_gives_a_user_of_the_host_rights(tmp_path: Path) -> None:
    layer = tmp_path / SNAPSHOTS / "1" / "fs"
    layer.mkdir(parents=True)
    for name, mode in (("setuid", 0o4755), ("setgid", 0o2755), ("plain", 0o755), ("powerful", 0o755), ("low-ports", 0o755)):
        (layer / name).write_bytes(b"program")
        (layer / name).chmod(mode)
    os.setxattr(layer / "powerful", "security.capability", struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))
    os.setxattr(layer / "low-ports", "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))
    (layer / "link").symlink_to("/etc/passwd")
    os.mknod(layer / "disk", 0o660 | stat.S_IFBLK, os.makedev(8, 0))
    os.mknod(layer / "removed", stat.S_IFCHR, os.makedev(0, 0))
    _disarm(tmp_path)
    assert {path.name for path in layer.iterdir()} == {"setuid", "setgid", "plain", "powerful", "low-ports", "link", "removed"}
    assert {path.lstat().st_mode & 0o7777 for path in layer.iterdir() if stat.S_ISREG(path.lstat().st_mode)} <= {0o755, 0o644}
    assert os.listxattr(layer / "powerful") == []
    assert os.listxattr(layer / "low-ports") == ["security.capability"]


@pytest.fixture
def binaries() -> Path:
    directory = Path(os.environ.get("MINIKUBE_TEST_BINARIES", ""))
    if not (directory / "containerd").is_file() or os.geteuid() != 0:
        pytest.skip("needs root, and MINIKUBE_TEST_BINARIES naming a directory with containerd and ctr")
    return directory


@pytest.fixture
def archive(tmp_path: Path) -> tuple[Path, Path]:
    tool = tmp_path / "tool"
    tool.write_bytes(os.urandom(2_000_000))
    tool.chmod(0o755)
    layer = (Entry("usr/bin/tool", source=tool),)
    write_archive(
        tmp_path / "images.tar",
        [Image("registry.example/a:v1", (layer,)), Image("registry.example/b:v1", (layer, (Entry("etc/x", content=b"x"),)))],
    )
    return tmp_path / "images.tar", tool


def listed(binaries: Path, root: Path, *words: str) -> str:
    with private_containerd(root, binaries / "containerd") as address:
        return run([str(binaries / "ctr"), "--address", address, "--namespace", "k8s.io", *words]).text


@pytest.mark.build
def test_a_clone_of_a_prepared_store_has_the_images(binaries: Path, archive: tuple[Path, Path], tmp_path: Path) -> None:
    images, tool = archive
    (tmp_path / "prepared").mkdir()
    build_prepared_store(
        tmp_path / "prepared",
        containerd=binaries / "containerd",
        ctr=binaries / "ctr",
        archives=[images],
        pinned=["registry.example/a:v1"],
        share={"usr/bin/tool": tool},
    )
    _, layers = clone(tmp_path / "prepared", tmp_path)

    table = listed(binaries, tmp_path / "node/store", "images", "list")
    names = {line.split()[0]: line for line in table.splitlines()[1:]}
    assert names.keys() == {*image_ids(images), *image_ids(images).values()}
    assert all("io.cri-containerd.image=managed" in line for line in names.values())
    pinned = {name for name, line in names.items() if "io.cri-containerd.pinned=pinned" in line}
    assert pinned == {"registry.example/a:v1", image_ids(images)["registry.example/a:v1"]}

    snapshots = listed(binaries, tmp_path / "node/store", "snapshots", "list").splitlines()[1:]
    assert len(snapshots) == 2  # the layer of both, and the second one of b
    extracted = list(layers.glob("*/usr/bin/tool"))
    assert [path.samefile(tool) for path in extracted] == [True]


@pytest.mark.build
def test_a_prepared_store_is_without_layers_and_the_daemons_identity(binaries: Path, archive: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "prepared").mkdir()
    build_prepared_store(tmp_path / "prepared", containerd=binaries / "containerd", ctr=binaries / "ctr", archives=[archive[0]])
    files = [path for path in (tmp_path / "prepared").rglob("*") if path.is_file()]
    assert [path for path in files if "blobs" in path.parts and path.stat().st_size > 10_000] == []
    assert [path for path in files if path.name == "uuid"] == []
    extracted = next(path for path in files if path.name == "tool")
    assert extracted.read_bytes() == archive[1].read_bytes()
    assert not extracted.samefile(archive[1])


@pytest.mark.build
def test_a_broken_archive_is_a_reason_and_leaves_no_process(binaries: Path, tmp_path: Path) -> None:
    (tmp_path / "prepared").mkdir()
    (tmp_path / "broken.tar").write_bytes(b"not a tar file" * 1000)
    with pytest.raises(Reason, match="cannot be prepared"):
        build_prepared_store(
            tmp_path / "prepared", containerd=binaries / "containerd", ctr=binaries / "ctr", archives=[tmp_path / "broken.tar"]
        )
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if str(tmp_path).encode() in command]


@pytest.mark.build
def test_containerd_that_cannot_start_is_a_reason(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with pytest.raises(Reason, match="cannot be prepared"), private_containerd(tmp_path, Path("/bin/false")):
        pass
