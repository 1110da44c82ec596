"""Messages on a terminal."""

from __future__ import annotations

import os
import pty
import struct
import termios
from collections.abc import Iterator
from fcntl import ioctl
from typing import TextIO

import pytest

from minikube.output.console import styled

MESSAGE = "Automatically selected the native driver: Kubernetes in namespaces of this host, without a VM or a container engine."


@pytest.fixture
def narrow() -> Iterator[TextIO]:
    """A terminal of 60 columns."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with os.fdopen(slave, "w") as stream:
        yield stream
    os.close(master)


def test_lines_end_between_words(narrow: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    lines = styled(narrow, MESSAGE, "").splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(line.strip() for line in lines) == f"* {MESSAGE}"


def test_a_word_that_is_too_long_stays_whole(narrow: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    path = "/a/very/long/path" * 8
    assert path in styled(narrow, f"See {path} for more", "").split()


def test_a_file_gets_whole_lines(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (tmp_path_factory.mktemp("out") / "file").open("w") as stream:
        assert styled(stream, MESSAGE, "").splitlines() == [f"* {MESSAGE}"]
