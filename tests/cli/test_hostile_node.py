"""Commands against a node that lies: each ends soon, with an answer or a reason, and writes nothing but what it was asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hostilenode import ARCHIVES, LIES, Caller, HostileNode, fingerprint, hostile_machine, truthful
from support.program import Program

from minikube.cluster import certificates, copying
from minikube.drivers import archives
from minikube.drivers.localnode import LocalNode
from minikube.output.reason import Reason

COMMANDS = {
    "status": ["status"],
    "ssh": ["ssh", "--", "true"],
    "logs": ["logs"],
    "image ls": ["image", "ls"],
    "image save": ["image", "save", "registry.example/a:1", "TARGET/image.tar"],
    "cp out": ["cp", "minikube:/etc/asked", "TARGET/file"],
    "cp in": ["cp", "TARGET/mine", "/etc/file"],
    "components": ["version", "--components"],
    "unpause": ["unpause"],
    "service list": ["service", "list"],
}


@pytest.fixture
def hostile(minikube: Program) -> Iterator[HostileNode]:
    minikube.add_profile("minikube")
    with hostile_machine(minikube.home, "minikube") as node:
        yield node


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where commands may write, with what is there already."""
    directory = tmp_path / "place"
    directory.mkdir()
    (directory / "mine").write_text("mine")
    return directory


@pytest.mark.parametrize("lie", LIES)
def test_every_command_ends_with_an_answer_or_a_reason(minikube: Program, hostile: HostileNode, place: Path, lie: str) -> None:
    hostile.lie = LIES[lie]
    watched = [minikube.home / "machines", place]
    for name, words in COMMANDS.items():
        before = fingerprint(*watched)
        done = minikube.inside(*(word.replace("TARGET", str(place)) for word in words))
        assert "Traceback" not in done.stdout + done.stderr, (name, done.stderr[-3000:])
        assert "MK_INTERNAL" not in done.stdout + done.stderr, (name, done.stderr[-3000:])
        after = fingerprint(*watched)
        for path in ("file", "image.tar"):
            (place / path).unlink(missing_ok=True)
        allowed = {str(place / "file"), str(place / "image.tar"), str(place)}
        assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} <= allowed, name


def answering(stat_line: bytes, content: bytes) -> object:
    def lie(caller: Caller) -> None:
        if not truthful(caller):
            caller.write(stat_line if "stat" in caller.request["argv"][0] else content)
            caller.say({"exit": 0})

    return lie


def test_no_special_bit_comes_out_of_a_node(minikube: Program, hostile: HostileNode, place: Path) -> None:
    hostile.lie = answering(b"7755 4 regular file\n", b"evil")  # type: ignore[assignment]
    done = minikube.inside("cp", "minikube:/etc/asked", f"{place}/file")
    assert (done.returncode, (place / "file").read_bytes()) == (0, b"evil")
    assert stat.S_IMODE((place / "file").stat().st_mode) == 0o755


def test_no_more_is_copied_than_the_node_said(minikube: Program, hostile: HostileNode, place: Path) -> None:
    hostile.lie = answering(b"644 1000 regular file\n", b"x" * (50 << 20))  # type: ignore[assignment]
    assert minikube.inside("cp", "minikube:/etc/asked", f"{place}/file").returncode == 0
    assert (place / "file").stat().st_size == 1000


@pytest.mark.parametrize(
    "line",
    [b"", b"644\n", b"9999 1 regular file\n", b"644 -1 regular file\n", b"644 1e3 regular file\n", b"\0" * 99],
    ids=repr,
)
def test_a_file_that_the_node_does_not_describe_is_not_copied(minikube: Program, hostile: HostileNode, place: Path, line: bytes) -> None:
    hostile.lie = answering(line, b"evil")  # type: ignore[assignment]
    done = minikube.inside("cp", "minikube:/etc/asked", f"{place}/file")
    assert (done.returncode, (place / "file").exists()) == (80, False) or "does not say what it is" in done.stderr


def test_a_link_in_the_directory_is_replaced_and_one_that_was_named_is_followed(
    minikube: Program, hostile: HostileNode, place: Path, tmp_path: Path
) -> None:
    hostile.lie = answering(b"644 4 regular file\n", b"evil")  # type: ignore[assignment]
    other = tmp_path / "other"
    other.write_text("other")
    (place / "asked").symlink_to(other)
    assert minikube.inside("cp", "minikube:/etc/asked", str(place)).returncode == 0
    assert ((place / "asked").read_bytes(), (place / "asked").is_symlink(), other.read_text()) == (b"evil", False, "other")
    (place / "link").symlink_to(other)
    assert minikube.inside("cp", "minikube:/etc/asked", f"{place}/link").returncode == 0
    assert ((place / "link").is_symlink(), other.read_bytes()) == (True, b"evil")
    os.mkfifo(place / "sub")
    (place / "sub").rename(place / "asked")
    assert minikube.inside("cp", "minikube:/etc/asked", str(place)).returncode != 0


def test_special_bits_do_not_go_into_a_node_either(place: Path) -> None:
    (place / "mine").chmod(0o6755)
    with copying._from_here(str(place / "mine")) as source:
        assert source.mode == 0o755


class OnThisHost(LocalNode):
    def forward(self, port: int) -> tuple[str, int]:
        raise NotImplementedError


# Archives: what a node's own tar says.

GOOD = {"two hundred links": {}, "hard link": {}, "device": {}, "setuid": {"/etc/asked/a": 0o777}, "bytes after": {"/etc/asked/a": 0o644}}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_a_node_gives_files_that_were_asked_for_or_a_reason(name: str) -> None:
    try:
        found = archives.unpack(ARCHIVES[name], ["/etc/asked"])
    except Reason as reason:
        assert name not in GOOD or name == "bytes after", reason.message
    else:
        assert {path: file.mode for path, file in found.items()} == GOOD[name]


def test_certificates_that_a_node_gives_under_other_names_are_refused(hostile: HostileNode, tmp_path: Path) -> None:
    """The attack: a link in the place of a kubeconfig, and a tar that writes any file of the host."""
    state = tmp_path / "state"
    (state / "etc/kubernetes").mkdir(parents=True)
    (state / "etc/kubernetes/super-admin.conf").symlink_to("/run/evil")
    node = OnThisHost("n", state=str(state), socket=str(hostile.socket), address="", gateway="")
    asked = []

    def lie(caller: Caller) -> None:
        if not truthful(caller):
            asked.append(caller.request["argv"])
            caller.write(ARCHIVES["up and out"])
            caller.say({"exit": 0})

    hostile.lie = lie
    with pytest.raises(Reason, match="no plain path"):
        node.get("/etc/kubernetes/super-admin.conf")
    # Our own files are not even asked for there, and take the place of the link.
    assert node.get_own("/etc/kubernetes") == node.get_own("/etc/kubernetes/super-admin.conf") == {}
    node.put_own({"/etc/kubernetes/super-admin.conf": archives.File(b"ours", 0o600)})
    assert (state / "etc/kubernetes/super-admin.conf").read_bytes() == b"ours"
    assert len(asked) == 1
    with pytest.raises(ValueError, match="not a path"):
        certificates._write(tmp_path / "copy", {"/../../evil": archives.File(b"evil", 0o4755)})
