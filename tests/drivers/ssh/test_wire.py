"""Frames between two ends that know nothing of each other's timing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from minikube.drivers.ssh.wire import GREETING, MESSAGE, STDIN_END, STDOUT, Closed, Silent, Wire


@pytest.fixture
def ends() -> Iterator[tuple[Wire, Wire]]:
    there, here = os.pipe(), os.pipe()
    descriptors = {*there, *here}
    yield Wire(there[0], here[1]), Wire(here[0], there[1])
    for descriptor in descriptors:
        os.close(descriptor)


def test_messages_and_blobs_arrive_whole(ends: tuple[Wire, Wire]) -> None:
    one, other = ends
    blob = os.urandom(3_000_000)
    sender = threading.Thread(target=lambda: (one.say({"verb": "put", "n": 1}, blob), one.say({"verb": "state"})))
    sender.start()
    assert other.hear() == ({"verb": "put", "n": 1}, blob)
    assert other.hear() == ({"verb": "state"}, b"")
    sender.join()


def test_an_empty_blob_is_a_blob(ends: tuple[Wire, Wire]) -> None:
    ends[0].say({"a": 1}, b"")
    ends[0].say({"b": 2})
    assert ends[1].hear() == ({"a": 1}, b"")
    assert ends[1].hear() == ({"b": 2}, b"")


def test_what_a_login_script_says_is_skipped(ends: tuple[Wire, Wire]) -> None:
    os.write(ends[0].sink, b"Welcome!\n#minikube-agent-0\n" + GREETING)
    ends[0].say({"ready": True})
    ends[1].skip_to_greeting(5)
    assert ends[1].hear() == ({"ready": True}, b"")


def test_what_was_under_way_for_a_command_that_ended_is_dropped(ends: tuple[Wire, Wire]) -> None:
    ends[0].send(STDIN_END)
    ends[0].send(MESSAGE, b'{"signal": 15}')
    ends[0].say({"verb": "state"})
    assert ends[1].hear()[0] == {"verb": "state"}


def test_silence_and_the_end_are_two_things() -> None:
    source, sink = os.pipe()
    wire = Wire(source, sink)
    with pytest.raises(Silent):
        wire.receive(0.01)
    os.write(sink, STDOUT + b"\0\0\0\x05he")
    os.close(sink)
    with pytest.raises(Closed):
        wire.receive(5)
    os.close(source)


def test_what_is_not_the_protocol_does_not_fill_the_memory(ends: tuple[Wire, Wire]) -> None:
    os.write(ends[0].sink, b"HTTP/1.1 400 Bad Request\r\n")
    with pytest.raises(Closed):
        ends[1].receive(5)
