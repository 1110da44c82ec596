"""Putting a node into a user namespace, on the real kernel: what it sees of files, and what is said where that cannot be done."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import pytest

from minikube.artifacts.components import Components
from minikube.drivers.native import podmounts, usernamespace
from minikube.drivers.native.definition import kept_choice
from minikube.drivers.native.driver import NativeDriver
from minikube.drivers.native.layout import Layout
from minikube.drivers.native.usernamespace import Enclosure, NoUserNamespace, Trial, forget_ranges, keep_opaque
from minikube.host import shiftedids
from minikube.host.process import run
from minikube.host.untrustedtree import Tree
from minikube.node.places import WRITABLE
from minikube.profiles.settings import Flag, Settings

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
IDS = next(shiftedids.ranges())


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    layout = Layout("box")
    for directory in (layout.root / "usr", layout.images / "usr", *map(layout.state, WRITABLE)):
        directory.mkdir(parents=True)
    for name in ("image", "binaries"):
        (tmp_path / name / "usr").mkdir(parents=True)
        (tmp_path / name / "usr" / name).write_text(name)
    return layout


@pytest.fixture
def components(tmp_path: Path) -> Components:
    return Components("v1.37.1", *(tmp_path / name for name in ("image", "binaries", "prepared", "seed", "runc", "kubectl")))


@needs_root
def test_the_nodes_root_belongs_to_the_nodes_root_and_the_host_sees_nothing_of_it(layout: Layout, components: Components) -> None:
    before = Path("/proc/self/mounts").read_text()
    made = Trial(layout, components).result(IDS)
    seen = run(made.command("/bin/sh", "-c", f"cd {made.root} && stat -c %u . usr usr/image usr/binaries; echo x > usr/new"), check=False)
    assert seen.text.split() == [str(made.first)] * 4
    assert "Read-only" in seen.error_text
    assert (components.node_image / "usr/image").stat().st_uid == 0
    assert Path("/proc/self/mounts").read_text() == before


@needs_root
def test_what_cannot_be_shifted_is_said(layout: Layout, components: Components, tmp_path: Path) -> None:
    with pytest.raises(NoUserNamespace, match=r"nowhere/usr: No such file"):
        Trial(layout, components._replace(node_image=tmp_path / "nowhere")).result(IDS)
    # proc is a file system whose owners nobody can shift.
    with pytest.raises(NoUserNamespace, match=r"other owners in .*: Invalid argument"):
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc/usr").symlink_to("/proc/sys")
        Trial(layout, components._replace(node_image=tmp_path / "proc")).result(IDS)


def test_the_place_that_is_covered_is_not_one_that_the_node_is_made_from(
    layout: Layout, components: Components, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usernamespace, "PLACES", (str(tmp_path), "/nowhere"))
    with pytest.raises(NoUserNamespace, match="free to be covered"):
        Trial(layout, components).result(IDS)


def test_ids_are_within_what_nobody_else_hands_out() -> None:
    assert 1879048192 <= shiftedids.ALL[0] < shiftedids.ALL[-1] < 2147352576  # systemd's table of ids


def test_the_command_is_the_last_part(layout: Layout) -> None:
    assert Enclosure(1, "/mnt", str(layout.root), []).command("runc", "create")[-2:] == ["runc", "create"]


@needs_root
def test_layers_that_hide_others_do_so_in_both_kinds_of_node(tmp_path: Path) -> None:
    outside, inside = usernamespace.OPAQUE
    for name, mark in (("a", outside), ("b", inside), ("c", None)):
        (tmp_path / name).mkdir()
        if mark:
            os.setxattr(tmp_path / name, mark, b"y")
    keep_opaque(Tree(tmp_path.parent), tmp_path.name)
    assert [set(os.listxattr(tmp_path / name)) & {outside, inside} for name in "abc"] == [{outside, inside}, {outside, inside}, set()]


def test_a_node_without_one_is_warned_of_with_the_cause(layout: Layout) -> None:
    layout.facts.write_text('{"subnet": "192.0.2.0/24", "not_enclosed": "other owners in /home: Invalid argument"}')
    (warning,) = NativeDriver("box").warnings()
    assert "other owners in /home: Invalid argument" in warning
    layout.facts.write_text('{"subnet": "192.0.2.0/24", "enclosure": null, "not_enclosed": ""}')  # turned off on purpose
    assert NativeDriver("box").warnings() == []


def test_what_was_chosen_once_holds_until_something_else_is_said() -> None:
    flags = {"user-namespace": Flag("user-namespace", "bool", True)}
    silent, off = Settings(flags, {}), Settings(flags, {"user-namespace": False})
    assert [kept_choice(silent, {}), kept_choice(off, {})] == [True, False]
    assert [kept_choice(silent, {"UserNamespace": False}), kept_choice(off, {"UserNamespace": True})] == [False, False]


@needs_root
def test_whether_pods_can_have_one_is_what_the_kernel_can_do(layout: Layout, components: Components) -> None:
    """Where it cannot, the same call is refused to podmounts.py."""
    missing = podmounts._libc.syscall(podmounts.OPEN_TREE_ATTR, -1, b"", 0, None, 0) < 0 and ctypes.get_errno() == errno.ENOSYS
    assert Trial(layout, components).result(IDS).pods is not missing


def test_a_node_of_another_kind_gives_pods_other_ids(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one/userns").write_text("{}")
    (tmp_path / "one/etc-hosts").write_text("")
    forget_ranges(Tree(tmp_path.parent), tmp_path.name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["etc-hosts", "one", "two"]
