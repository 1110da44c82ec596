"""Files that must survive a crash."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minikube.host.files import read_record, write_durably
from minikube.output.reason import Reason


def test_replaces_the_content_and_sets_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    write_durably(target, "new", mode=0o600)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_leaves_no_temporary_file(tmp_path: Path) -> None:
    write_durably(tmp_path / "file", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_writes_through_a_symbolic_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_durably(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_writes_through_a_link_to_what_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "dotfiles" / "kube").mkdir(parents=True)
    (tmp_path / "kube").symlink_to("dotfiles/kube")
    (tmp_path / "kube" / "config").symlink_to("../config")
    write_durably(tmp_path / "kube" / "config", "new")
    assert (tmp_path / "dotfiles" / "config").read_text() == "new"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_directory_that_is_named_by_its_descriptor_is_not_looked_for_by_its_path(tmp_path: Path) -> None:
    """Its path leads elsewhere: as when somebody swaps it for a link, but for good."""
    place = tmp_path / "place"
    place.mkdir()
    descriptor = os.open(place, os.O_RDONLY)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
    try:
        write_durably(f"/proc/{os.getpid()}/fd/{descriptor}/file", "x")
        assert list(place.iterdir()) == []
        assert os.stat("file", dir_fd=descriptor).st_size == 1
    finally:
        subprocess.run(["umount", place], check=True)
        os.close(descriptor)


def test_a_killed_writer_leaves_the_old_or_the_new_content_whole(tmp_path: Path) -> None:
    target = tmp_path / "file"
    contents = {letter * 200_000 for letter in "ab"}
    target.write_text("a" * 200_000)
    loop = f"from minikube.host.files import write_durably\nwhile True:\n  for l in 'ab': write_durably({str(target)!r}, l * 200_000)"
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", loop])
        for _ in range(5):  # let it get through some whole writes, reading all the while
            before, deadline = target.stat().st_ino, time.monotonic() + 10
            while target.stat().st_ino == before and time.monotonic() < deadline:
                assert target.read_text() in contents
            assert target.stat().st_ino != before
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert target.read_text() in contents


def test_a_missing_directory_is_a_reason_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(Reason, match="nowhere/file"):
        write_durably(tmp_path / "nowhere" / "file", "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_is_a_reason_and_keeps_the_old_content(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        target = tmp_path / "file"
        write_durably(target, "old")
        with pytest.raises(Reason) as full:
            write_durably(target, "x" * 1_000_000)
        assert full.value.id == "RSRC_INSUFFICIENT_STORAGE"
        assert target.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize(("content", "found"), [('{"a": 1}', {"a": 1}), ("[1]", {}), ('{"a"', {}), (None, {})])
def test_a_record_that_is_gone_or_damaged_is_empty(tmp_path: Path, content: str | None, found: dict[str, int]) -> None:
    if content is not None:
        (tmp_path / "record.json").write_text(content)
    assert read_record(tmp_path / "record.json") == found
