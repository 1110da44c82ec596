"""What a killed start has half copied, the next one completes; nothing of a user's is lost on the way."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from minikube.artifacts.components import Components
from minikube.drivers.native.box import Box, _links_made
from minikube.drivers.native.driver import NativeDriver
from minikube.node.places import SUPERVISOR
from minikube.output.reason import Reason


def test_a_copy_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    skeleton, target = tmp_path / "skeleton", tmp_path / "target"
    (skeleton / "deep").mkdir(parents=True)
    (skeleton / "deep/link").symlink_to("../file")
    (skeleton / "link").symlink_to("file")
    (skeleton / "file").write_text("whole")
    (target / "deep").mkdir(parents=True)
    (target / "link").symlink_to("file")
    (target / "file").write_text("ha")
    (target / "theirs").write_text("a user's")
    for _ in range(2):
        shutil.copytree(skeleton, target, symlinks=True, dirs_exist_ok=True, ignore=partial(_links_made, skeleton, target))
    assert (target / "deep/link").read_text() == "whole"
    assert (target / "theirs").read_text() == "a user's"


@pytest.mark.parametrize("planted", [SUPERVISOR, "/etc/minikube"])
def test_a_link_that_the_node_put_there_is_not_followed_out_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    """Root in a node may write its own files, and would have the host's root write any."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    box = Box(NativeDriver("one"))
    for name in ("etc", "var"):
        (tmp_path / "image" / name).mkdir(parents=True)
    parts = Components("v1.37.1", *(tmp_path / name for name in ("image", "binaries", "prepared", "seed", "runc", "kubectl")))
    box._furnish(parts)
    assert box.layout.state(SUPERVISOR).stat().st_size > 0
    outside = tmp_path / "of-the-host"
    outside.mkdir()
    (outside / "passwd").write_text("root")
    link = box.layout.state(planted)
    shutil.rmtree(box.layout.state("/etc/minikube")) if planted != SUPERVISOR else link.unlink()
    link.symlink_to(outside if planted != SUPERVISOR else outside / "passwd")
    with pytest.raises(Reason, match="leads elsewhere"):
        box._furnish(parts)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("passwd", "root")]
