"""A supervisor that lies: whatever it says, the host gets an answer or a reason, soon, and keeps its memory and descriptors."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.hostilenode import LIES, Caller, HostileNode, truthful

from minikube.node import control, streams
from minikube.node.control import Control, ControlUnreachable
from minikube.output.reason import Reason

QUESTIONS: dict[str, Callable[[Control], object]] = {
    "status": lambda node: node.status(),
    "start": lambda node: node.start("kubelet"),
    "stop": lambda node: node.stop("kubelet"),
    "wait": lambda node: node.wait(["kubelet"], timeout=1),
    "reload": lambda node: node.reload(),
    "shutdown": lambda node: node.shutdown(1),
    "run": lambda node: node.run(["true"], input=b"in", timeout=5),
    "transfer": lambda node: node.transfer(["cat"], idle=2),
}


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[HostileNode]:
    node = HostileNode(tmp_path)
    yield node
    node.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "ANSWER_TIMEOUT", 0.5)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("lie", LIES)
def test_every_lie_ends_in_an_answer_or_a_reason(hostile: HostileNode, lie: str, question: str) -> None:
    hostile.lie = LIES[lie]
    before = descriptors()
    try:
        QUESTIONS[question](Control(hostile.socket, peer=os.geteuid()))
    except Reason as reason:
        assert len(reason.message) < 5000
    for _ in range(50):  # the other end is in this process
        if descriptors() <= before:
            break
        time.sleep(0.02)
    assert descriptors() <= before


def _drip(caller: Caller) -> None:
    while not caller.over.wait(0.05):
        caller.raw(b" ")


@pytest.mark.parametrize("lie", [lambda caller: caller.over.wait(20), _drip], ids=["silence", "byte by byte"])
def test_nobody_waits_for_ever(hostile: HostileNode, impatient: None, lie: Callable[[Caller], None]) -> None:
    hostile.lie = lie
    node = Control(hostile.socket)
    for question in (lambda: node.run(["true"]), lambda: node.attach(["true"])):
        with pytest.raises(ControlUnreachable):
            question()
    with node.conversation(0.3) as conversation, pytest.raises(ControlUnreachable):
        conversation.ask({"verb": "status"})


def test_an_exit_that_comes_byte_by_byte_is_not_waited_for(hostile: HostileNode, impatient: None) -> None:
    def lie(caller: Caller) -> None:
        if not truthful(caller):
            caller.raw(b'{"exit"')
            _drip(caller)

    hostile.lie = lie
    with pytest.raises(ControlUnreachable):
        Control(hostile.socket).run(["true"])


def test_what_a_command_writes_is_bounded(hostile: HostileNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_OUTPUT", 1 << 20)

    def lie(caller: Caller) -> None:
        if not truthful(caller):
            caller.write(b"x" * (64 << 20))

    hostile.lie = lie
    with pytest.raises(Reason, match="wrote more than"):
        Control(hostile.socket).run(["true"])


def test_a_command_that_writes_nothing_more_is_given_up(hostile: HostileNode) -> None:
    def lie(caller: Caller) -> None:
        if not truthful(caller):
            caller.write(b"a")
            caller.over.wait(20)

    hostile.lie = lie
    with pytest.raises(TimeoutError):
        Control(hostile.socket).transfer(["cat"], idle=0.3)


def test_a_link_in_the_place_of_the_socket_does_not_lead_to_another_node(hostile: HostileNode, tmp_path: Path) -> None:
    """Else `minikube -p a stop` stops b."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/control.sock").symlink_to(hostile.socket)
    with pytest.raises(ControlUnreachable):
        Control(tmp_path / "a/control.sock").status()


def test_nothing_but_a_socket_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "control.sock")
    with pytest.raises(ControlUnreachable, match="no socket"):
        Control(tmp_path / "control.sock").status()


def test_somebody_else_at_the_socket_is_not_talked_to(hostile: HostileNode) -> None:
    heard: list[Caller] = []
    hostile.lie = heard.append
    with pytest.raises(ControlUnreachable, match="somebody else"):
        Control(hostile.socket, peer=os.geteuid() + 1).status()
    assert [caller.request for caller in heard if caller.request] == []


def test_a_terminal_of_the_node_has_to_be_one(hostile: HostileNode, tmp_path: Path) -> None:
    """What is typed would be written to whatever the node hands over."""
    (tmp_path / "file").touch()

    def lie(caller: Caller) -> None:
        with (tmp_path / "file").open("rb+") as stream:
            socket.send_fds(caller.peer, [b'{"ok": true, "pid": 1}\n'], [stream.fileno()])
        caller.over.wait(5)

    hostile.lie = lie
    with pytest.raises(ControlUnreachable, match="no terminal"):
        Control(hostile.socket).attach(["sh"], tty=True)


def test_files_of_ours_never_enter_the_node(hostile: HostileNode, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`minikube ssh < file`: with the file itself, root in a node could open it again, for writing."""
    kinds: list[str] = []

    def lie(caller: Caller) -> None:
        if not truthful(caller):
            kinds.extend(str(Path(f"/proc/self/fd/{descriptor}").readlink()).partition(":")[0] for descriptor in caller.streams)
            caller.say({"exit": 0})

    hostile.lie = lie
    (tmp_path / "in").write_text("secret")
    before = os.dup(0)
    with (tmp_path / "in").open() as stream:
        os.dup2(stream.fileno(), 0)
    try:
        assert Control(hostile.socket).attach(["cat"]) == 0
    finally:
        os.dup2(before, 0)
        os.close(before)
    assert kinds == ["pipe"] * 3


@pytest.mark.parametrize("seed", range(5))
def test_noise_never_crashes(hostile: HostileNode, impatient: None, seed: int) -> None:
    """Random bytes, and messages with parts exchanged."""
    chance = random.Random(seed)
    pieces = [
        b'{"ok": true',
        b'"services"',
        b'"exit"',
        b": ",
        b"{}",
        b"[]",
        b"}",
        b"\n",
        b", ",
        b"1e999",
        b'"\\ud800"',
        b"NaN",
        b"-1",
        b"\x00",
        b"\xff",
    ]
    plans = [b"".join(chance.choices(pieces, k=chance.randrange(1, 30))) + b"\n" for _ in range(100)]
    plans += [chance.randbytes(chance.randrange(1, 3000)) + b"\n" for _ in range(20)]
    for plan in plans:
        hostile.lie = lambda caller, plan=plan: caller.raw(plan)  # type: ignore[misc]
        for question in ("status", "run"):
            try:
                QUESTIONS[question](Control(hostile.socket))
            except Reason:
                continue
