"""Two stores and a wire between them: what arrives is what was sent, and nothing is sent twice."""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from minikube.artifacts import sealing
from minikube.drivers.ssh import agentstore
from minikube.drivers.ssh.offer import list_entry
from minikube.drivers.ssh.wire import BLOB, END, Wire
from minikube.output.reason import Reason

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the machine's store belongs to root")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "theirs"))
    return tmp_path / "theirs"


def entry(store: Path, name: str, files: dict[str, str], *, links: dict[str, Path] | None = None) -> Path:
    made = store / "entries" / name
    for path, text in files.items():
        file = made / "content" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o754)
        os.utime(file, ns=(10**18, 10**18 + 5))
    for path, target in (links or {}).items():
        file = made / "content" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.hardlink_to(target)
    sealing.seal(made, name=name, identity="")
    return made


def deliver(entries: Sequence[Path], *, break_content: bool = False) -> list[str]:
    """What had to be sent."""
    delivery = agentstore.Delivery(zlib.compress(json.dumps({path.name: list_entry(path) for path in entries}).encode()))
    sources = {item.content: path / "content" / item.path for path in entries for item in list_entry(path)}
    source, sink = os.pipe()
    wanted = delivery.wanted()

    def send() -> None:
        wire = Wire(-1, sink)
        for content in wanted:
            data = b"other" if break_content else sources[content].read_bytes()
            wire.send(BLOB, b"z" + zlib.compress(data))
            wire.send(END)
        os.close(sink)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        delivery.take(Wire(source, -1))
    finally:
        sender.join()
        os.close(source)
    return wanted


def test_an_entry_arrives_as_it_was(tmp_path: Path, theirs: Path) -> None:
    ours = entry(tmp_path / "ours", "image-1", {"usr/bin/program": "text", "usr/empty": ""})
    (ours / "content/usr/link").symlink_to("bin/program")
    os.mknod(ours / "content/usr/whiteout", 0o020600, 0)
    os.setxattr(ours / "content/usr/bin", "trusted.overlay.opaque", b"y")
    sealing.seal(ours, name="image", identity="")
    assert len(deliver([ours])) == 2
    arrived = theirs / "entries/image-1"
    assert sealing.check(arrived, full=True) is None
    assert sealing.records(arrived) == sealing.records(ours)
    program = (arrived / "content/usr/bin/program").stat()
    assert (program.st_mode & 0o7777, program.st_mtime_ns) == (0o754, 10**18 + 5)
    assert os.getxattr(arrived / "content/usr/bin", "trusted.overlay.opaque") == b"y"
    assert (arrived / "content/usr/whiteout").lstat().st_rdev == 0
    assert sorted(path.name for path in theirs.iterdir()) == ["entries"]


def test_what_another_entry_has_is_not_sent_again(tmp_path: Path, theirs: Path) -> None:
    deliver([entry(tmp_path / "ours", "binaries-1", {"a": "same", "b": "old"})])
    assert len(deliver([entry(tmp_path / "ours", "binaries-2", {"a": "same", "b": "new"})])) == 1
    assert (theirs / "entries/binaries-2/content/a").read_text() == "same"
    assert agentstore.missing(["binaries-1", "binaries-2", "binaries-3"]) == ["binaries-3"]


def test_only_what_is_one_file_here_is_one_file_there(tmp_path: Path, theirs: Path) -> None:
    one = entry(tmp_path / "ours", "node-1", {"kubernetes": "shared", "runc": "alike"})
    other = entry(tmp_path / "ours", "images-1", {"runc": "alike"}, links={"kubernetes": one / "content/kubernetes"})
    assert len(deliver([one, other])) == 2
    there = theirs / "entries"
    assert (there / "node-1/content/kubernetes").samefile(there / "images-1/content/kubernetes")
    assert not (there / "node-1/content/runc").samefile(there / "images-1/content/runc")


def test_a_damaged_entry_is_missing_and_put_away(tmp_path: Path, theirs: Path) -> None:
    ours = entry(tmp_path / "ours", "image-1", {"a": "text"})
    deliver([ours])
    (theirs / "entries/image-1/content/a").write_text("changed")
    assert agentstore.missing(["image-1"]) == ["image-1"]
    assert (theirs / "damaged/image-1/content/a").read_text() == "changed"
    deliver([ours])
    assert agentstore.missing(["image-1"]) == []


def test_what_is_not_what_was_offered_is_refused(tmp_path: Path, theirs: Path) -> None:
    ours = entry(tmp_path / "ours", "image-1", {"a": "text"})
    with pytest.raises(Reason):
        deliver([ours], break_content=True)
    assert agentstore.missing(["image-1"]) == ["image-1"]


def test_an_interrupted_delivery_goes_on_where_it_was(tmp_path: Path, theirs: Path) -> None:
    ours = entry(tmp_path / "ours", "image-1", {"a": "first", "b": "second"})
    offer = zlib.compress(json.dumps({ours.name: list_entry(ours)}).encode())
    delivery = agentstore.Delivery(offer)
    source, sink = os.pipe()
    wire = Wire(-1, sink)
    wire.send(BLOB, b"-first")
    wire.send(END)
    os.close(sink)
    with pytest.raises(Exception, match="ended"):
        delivery.take(Wire(source, -1))
    os.close(source)
    assert len(deliver([ours])) == 1
    assert sealing.check(theirs / "entries/image-1", full=True) is None
