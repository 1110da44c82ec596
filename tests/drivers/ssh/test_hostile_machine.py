"""A machine over SSH whose agent lies: what it sends is a stranger's, and ends in a reason at most."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.hostilenode import ARCHIVES, DEEP

from minikube.drivers.ssh import channel as channels
from minikube.drivers.ssh import probe, remoteexec, wire
from minikube.drivers.ssh.channel import Channel, NoAgent
from minikube.drivers.ssh.driver import _checked
from minikube.drivers.ssh.node import RemoteControl, SshNode
from minikube.drivers.ssh.target import Target
from minikube.drivers.ssh.wire import BLOB, END, GREETING, MESSAGE, STDERR, STDOUT, TAKEN, Closed, Silent, Wire
from minikube.output.reason import Reason

AGENT = "import os, sys\ndata = open(sys.argv[1], 'rb').read()\nos.write(1, data[:1 << 16])\nsys.stdout.buffer.write(data[1 << 16:])\n"
TARGET = Target(address="192.0.2.9", user="root", key="", port=22)


def frame(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def message(value: object) -> bytes:
    return frame(MESSAGE, json.dumps(value).encode())


class Session:
    """As much of a session as a node needs: its agents are programs that say what they were told to."""

    target, machine = TARGET, "far"

    def __init__(self, tmp_path: Path, said: bytes) -> None:
        self._file = tmp_path / "said"
        self._file.write_bytes(said)

    @contextmanager
    def channel(self) -> Iterator[Channel]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", AGENT, str(self._file)], **pipes) as process:  # type: ignore[call-overload]
            made = Channel(process, TARGET)
            try:
                yield made
            finally:
                made.close()

    def exchange(self, verb: str, blob: bytes | None = None, **request: object) -> tuple[dict[str, object], bytes]:
        with self.channel() as channel:
            return channel.exchange(verb, blob, **request)  # type: ignore[arg-type]

    def call(self, verb: str, blob: bytes | None = None, **request: object) -> dict[str, object]:
        return self.exchange(verb, blob, **request)[0]


def node(tmp_path: Path, said: bytes) -> SshNode:
    return SshNode(Session(tmp_path, said), address="", gateway="")  # type: ignore[arg-type]


ANSWERS = {
    "nothing": b"",
    "no protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "no json": frame(MESSAGE, b"\xff\xff"),
    "deep json": frame(MESSAGE, DEEP),
    "a list": message([1]),
    "no fields": message({}),
    "fields of other types": message({"exists": "yes", "exit": "0", "answer": [], "state": 5}),
    "huge exit": message({"exit": 10**20}),
    "error that is no error": message({"error": "x"}),
    "error without words": message({"error": {"kind": "Reason"}}),
    "error with other types": message({"error": {"kind": "Reason", "message": [], "id": 5, "advice": None, "exit_code": "x"}}),
    "a book of an error": message({"error": {"kind": "Reason", "message": "x" * 10**6, "id": "MK_USAGE", "advice": "", "exit_code": 0}}),
    "a blob that is none": message({"blob": True}) + frame(STDOUT, b"x"),
    "a blob without end": message({"blob": True}) + frame(BLOB, b"x" * 1000),
    "a frame that is too large": MESSAGE + b"\xff\xff\xff\xff",
    "output of an unknown kind": frame(b"Z", b"x"),
    "more taken than was sent": frame(TAKEN, b"\xff\xff\xff\xff") + message({"exit": 0}),
    "output, then nonsense": frame(STDOUT, b"x") + frame(STDERR, b"y") + frame(MESSAGE, b"{"),
}

QUESTIONS: dict[str, Callable[[SshNode], object]] = {
    "get": lambda far: far.get("/etc/asked"),
    "put": lambda far: far.put_own({"/etc/x": channels_file()}),
    "exists": lambda far: far.exists("/etc/asked"),
    "run": lambda far: far.run(["true"], input=b"x" * 10, timeout=20),
    "transfer": lambda far: far.control.transfer(["cat"], idle=20),
    "services": lambda far: far.services(),
    "status": lambda far: far.control.status(),
}


def channels_file() -> object:
    from minikube.drivers.values import File

    return File(b"x")


@pytest.mark.parametrize("answer", ANSWERS)
def test_every_answer_ends_in_a_value_or_a_reason(tmp_path: Path, answer: str) -> None:
    for question in QUESTIONS.values():
        try:
            question(node(tmp_path, ANSWERS[answer]))
        except Reason as reason:
            assert len(reason.message) < 5000


@pytest.mark.parametrize("name", ["up and out", "absolute", "beside what was asked for", "pax name", "no archive", "negative size"])
def test_files_that_were_not_asked_for_are_refused(tmp_path: Path, name: str) -> None:
    said = message({"blob": True}) + b"".join(frame(BLOB, ARCHIVES[name][at : at + 1000]) for at in range(0, len(ARCHIVES[name]), 1000))
    with pytest.raises(Reason, match="answers a request for files"):
        node(tmp_path, said + frame(END, b"")).get("/etc/asked")


def test_blobs_and_output_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 10_000)
    monkeypatch.setattr(remoteexec, "MOST_OUTPUT", 10_000)
    with pytest.raises(Reason):
        node(tmp_path, message({"blob": True}) + frame(BLOB, b"x" * 1000) * 100 + frame(END, b"")).get("/etc/asked")
    with pytest.raises(Reason):
        node(tmp_path, frame(STDOUT, b"x" * 1000) * 100 + message({"exit": 0})).run(["true"])


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for() -> None:
    source, sink = os.pipe()
    over = threading.Event()

    def drip() -> None:
        for byte in message({"a": "x" * 1000}):
            if over.wait(0.02):
                break
            os.write(sink, bytes([byte]))

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with pytest.raises(Silent):
            Wire(source, -1).hear(0.3)
    finally:
        over.set()
        dripping.join()
        os.close(source)
        os.close(sink)


def test_words_before_the_greeting_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_WORDS", 1 << 16)
    with Session(tmp_path, b"x" * (4 << 20)).channel() as channel, pytest.raises(NoAgent):
        channel.wait_for_greeting()
    with Session(tmp_path, b"hello" + GREETING).channel() as channel:
        channel.wait_for_greeting()


@pytest.mark.parametrize(
    "made",
    [
        {},
        {"address": "192.0.2.1"},
        {"address": "-oProxyCommand=evil", "gateway": "192.0.2.1"},
        {"address": "192.0.2.2:80:evil", "gateway": "192.0.2.1", "warnings": []},
        {"address": "192.0.2.2", "gateway": "192.0.2.1", "warnings": "x", "user_namespace": True, "pods_can_have_one": True},
        {"address": "192.0.2.2", "gateway": "192.0.2.1", "warnings": [], "user_namespace": "no", "pods_can_have_one": True},
    ],
)
def test_a_node_with_addresses_that_are_none_is_refused(made: dict[str, object]) -> None:
    with pytest.raises(Reason):
        _checked(made)


def test_only_what_is_known_of_a_node_is_kept() -> None:
    made = {"address": "192.0.2.2", "gateway": "192.0.2.1", "warnings": ["w" * 9999], "user_namespace": True, "pods_can_have_one": False}
    made["user_ids"] = 65536
    kept = _checked(made | {"sudo": "evil ", "user": "evil"})
    assert kept == made | {"warnings": ["w" * 1000]}


@pytest.mark.parametrize("text", ["", "x", "\n#minikube-end", "\n#minikube-kernel\nLinux\n#minikube-cpus\nmany\n#minikube-end\n"])
def test_what_a_machine_says_about_itself_may_be_nonsense(text: str) -> None:
    class Connection:
        target, directory = TARGET, Path("/nowhere")

        def run(self, *_words: object, **_more: object) -> object:
            from minikube.host.process import Completed

            return Completed([], 0, text.encode(), b"")

    with pytest.raises(Reason):
        probe.look(Connection())  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_noise_never_crashes(seed: int) -> None:
    """Frames in any order, with pieces exchanged; each reader has its own end."""
    chance = random.Random(seed)
    kinds = [MESSAGE, BLOB, END, STDOUT, STDERR, TAKEN, b"0", b"4", b"?"]
    payloads = [
        b"",
        b"{}",
        b'{"blob": true}',
        b'{"exit": 0}',
        b'{"signal": 1}',
        b"[]",
        b"null",
        b"\xff",
        b"1" * 5000,
        b'{"error": {}}',
        DEEP[:3000],
    ]
    for _ in range(50):
        data = b"".join(frame(chance.choice(kinds), chance.choice(payloads)) for _ in range(chance.randrange(1, 8)))
        if chance.random() < 0.5:
            spoiled = bytearray(data)
            for _ in range(chance.randrange(1, 5)):
                spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
            data = bytes(spoiled)
        source, sink = os.pipe()
        os.write(sink, data[: 1 << 15])
        os.close(sink)
        try:
            reader = Wire(source, -1)
            for _ in range(10):
                answer, _blob = reader.hear(1)
                channels._unless_error(answer)
        except (Closed, Silent, Reason):
            pass
        finally:
            os.close(source)


def test_a_command_on_the_machine_that_never_stops_talking_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a program in the place of ssh: the kernel ends it at the limit."""
    from minikube.drivers.ssh import connection

    monkeypatch.setattr(connection, "MOST_OUTPUT", 1 << 16)
    made = connection.Connection(TARGET, tmp_path)
    monkeypatch.setattr(made, "open", lambda: False)
    monkeypatch.setattr(made, "argv", lambda command: [command])
    done = made.run("yes", timeout=20)
    assert (done.code < 0, len(done.stdout)) == (True, 1 << 16)


def test_the_supervisor_there_is_reached_through_the_agent_only(tmp_path: Path) -> None:
    assert isinstance(node(tmp_path, b"").control, RemoteControl)
