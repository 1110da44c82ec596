"""What a killed start has half copied, the next one completes; nothing of a user's is lost on the way."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from minikube.drivers.native.box import _links_made


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
