"""The files that a start writes into a node of which somebody hostile was root before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from minikube.artifacts.components import Components
from minikube.artifacts.prepared import SNAPSHOTS
from minikube.drivers.native import bundle, usernamespace
from minikube.drivers.native.box import Box
from minikube.drivers.native.driver import NativeDriver
from minikube.node.places import SUPERVISOR
from minikube.output.reason import Reason

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="device files need root")


@pytest.fixture
def parts(tmp_path: Path) -> Components:
    image = tmp_path / "image"
    (image / "etc/ssl").mkdir(parents=True)
    (image / "etc/ssl/passwd").write_text("of the image")
    (image / "var/lib").mkdir(parents=True)
    (tmp_path / "prepared" / SNAPSHOTS / "1/fs").mkdir(parents=True)
    return Components("v1.37.1", *(tmp_path / name for name in ("image", "binaries", "prepared", "seed", "runc", "kubectl")))


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: Components) -> Box:
    """A machine that was furnished once, and is stopped."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    box = Box(NativeDriver("one"))
    bundle.write_root(box.layout)
    box._furnish(parts)
    box._remember({"prepared_store": str(parts.prepared_store), "subnet": "192.0.2.0/24", "furnished": True})
    assert box.layout.state(SUPERVISOR).stat().st_size > 0
    return box


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A directory of the host, the same afterwards."""
    place = tmp_path / "of-the-host"
    place.mkdir()
    (place / "passwd").write_text("root")
    (place / "userns").write_text("{}")
    before = {path.name: (path.read_text(), path.stat().st_mode) for path in place.iterdir()}
    yield place
    assert {path.name: (path.read_text(), path.stat().st_mode) for path in place.iterdir()} == before


def plant(box: Box, path: str, target: Path) -> None:
    box.layout.files.remove(path)
    box.layout.state(path).symlink_to(target)


@pytest.mark.parametrize("planted", [SUPERVISOR, "/etc/minikube"])
def test_a_link_that_the_node_put_there_is_not_followed_out_of_it(box: Box, parts: Components, outside: Path, planted: str) -> None:
    """Root in a node may write its own files, and would have the host's root write any."""
    plant(box, planted, outside / "passwd" if planted == SUPERVISOR else outside)
    with pytest.raises(Reason, match="leads elsewhere"):
        box._furnish(parts)


def test_the_mark_of_a_furnished_node_as_a_dangling_link_makes_no_file(box: Box, parts: Components, outside: Path) -> None:
    plant(box, "/etc/.furnished", outside / "new")
    box._furnish(parts)


def test_furnishing_again_goes_round_links(box: Box, parts: Components, outside: Path) -> None:
    box.layout.files.remove("/etc/.furnished")
    plant(box, "/etc/ssl", outside)
    box._furnish(parts)
    assert box.layout.state("/etc/ssl").is_symlink()


@pytest.mark.parametrize("planted", ["/var/lib", "/var/lib/containerd.unfinished"])
def test_images_are_not_unpacked_through_a_link(box: Box, outside: Path, planted: str) -> None:
    plant(box, planted, outside)
    if planted == "/var/lib":
        with pytest.raises(Reason, match="leads elsewhere"):
            box.fill()
    else:
        box.fill()
        assert box.layout.files.kind(f"/var/lib/containerd/{SNAPSHOTS}/1") == "directory"


@pytest.mark.parametrize("planted", ["/var/lib/kubelet", "/var/lib/kubelet/pods/one"])
def test_ids_of_pods_are_not_forgotten_through_a_link(box: Box, outside: Path, planted: str) -> None:
    (box.layout.state("/var/lib/kubelet/pods/one")).mkdir(parents=True)
    (outside / "pods").mkdir() if planted == "/var/lib/kubelet" else None
    plant(box, planted, outside)
    usernamespace.forget_ranges(box.layout.files, "var/lib/kubelet/pods")
    (outside / "pods").rmdir() if planted == "/var/lib/kubelet" else None


@needs_root
def test_a_device_file_in_the_place_of_a_file_is_replaced_and_never_written_to(box: Box, parts: Components) -> None:
    box.layout.files.remove(SUPERVISOR)
    os.mknod(box.layout.state(SUPERVISOR), stat.S_IFBLK | 0o666, os.makedev(259, 4095))
    box._furnish(parts)
    assert box.layout.files.kind(SUPERVISOR) == "file"


@needs_root
def test_nobody_but_root_gets_at_the_files_of_a_node(box: Box) -> None:
    """Also of a machine that an earlier version made: a setuid program of the node would make any user of the host root."""
    for directory in (box.layout.state(""), box.layout.images):
        directory.chmod(0o755)
        os.chown(directory, 1000, 1000)
    bundle.write_root(box.layout)
    for directory in (box.layout.state(""), box.layout.images):
        about = directory.stat()
        assert (stat.S_IMODE(about.st_mode), about.st_uid, about.st_gid) == (0o700, 0, 0)


def test_delete_removes_links_and_deep_trees_and_nothing_of_the_host(box: Box, outside: Path) -> None:
    box.layout.state("/etc/way").symlink_to(outside)
    place = os.open(box.layout.state("/opt"), os.O_PATH)
    for _ in range(3000):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_PATH, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    box._remove_files()
    assert list(box.layout.directory.parent.iterdir()) == []
