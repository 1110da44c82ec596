"""Nothing that comes through the control socket ends pid 1."""

from __future__ import annotations

import json
import os
import pty
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from supervised_node import SupervisedNode, until

from minikube.node import supervisor


def connect(node: SupervisedNode) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(str(node.socket))
    return client


def answer(client: socket.socket) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        data += (part := client.recv(1 << 16))
        if not part:
            return {}
    return dict(json.loads(data))


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{\n",
        b"\xff\xfe\x00\n",
        b"null\n",
        b"[]\n",
        b'"status"\n',
        b"[" * 100000 + b"\n",
        b"1" * 100000 + b"\n",
        b'{"verb": "dance"}\n',
        b'{"verb": ["status"]}\n',
        b'{"verb": "stop", "names": ["nobody"]}\n',
        b'{"verb": "stop", "names": 5}\n',
        b'{"verb": "wait", "timeout": "long"}\n',
        b'{"verb": "exec"}\n',
        b'{"verb": "exec", "argv": []}\n',
        b'{"verb": "exec", "argv": ["true"]}\n',
        b'{"verb": "exec", "argv": ["true"], "env": [1], "tty": true}\n',
        b'{"verb": "exec", "argv": ["true"], "tty": true, "window": [1]}\n',
        b'{"verb": "exec", "argv": ["true"], "tty": true, "window": [-1, 1000000]}\n',
    ],
)
def test_a_bad_request_gets_an_error(node: SupervisedNode, line: bytes) -> None:
    node.start([{"name": "daemon", "argv": ["sleep", "1000"]}])
    with connect(node) as client:
        client.sendall(line)
        reply = answer(client)
    assert reply["ok"] is False
    assert reply["error"]
    assert node.answers()


def test_an_endless_line_is_cut_off(node: SupervisedNode) -> None:
    node.start([])
    with connect(node) as client, pytest.raises(OSError):
        client.sendall(b"x" * 10_000_000)
    assert node.answers()


def test_silent_clients_are_sent_away_and_keep_nobody_out(node: SupervisedNode) -> None:
    node.start([])
    silent = [connect(node) for _ in range(supervisor.CONNECTION_LIMIT)]
    assert answer(silent[0]).get("error") == "not in time"
    until(node.answers)
    for client in silent:
        client.close()
    assert node.answers()


def test_descriptors_are_not_hoarded(node: SupervisedNode) -> None:
    node.start([])
    assert node.process is not None
    opened = Path(f"/proc/{node.process.pid}/fd")
    before = len(list(opened.iterdir()))
    for _ in range(20):
        with connect(node) as client, suppress(BrokenPipeError):
            for _ in range(3):
                socket.send_fds(client, [b"x"], [0, 1, 2])
    assert node.answers()
    until(lambda: len(list(opened.iterdir())) <= before)


def test_a_terminal_of_the_host_is_not_let_in(node: SupervisedNode) -> None:
    node.start([])
    master, slave = pty.openpty()
    with connect(node) as client:
        socket.send_fds(client, [b'{"verb": "exec", "argv": ["true"]}\n'], [slave, slave, slave])
        assert "terminal" in answer(client)["error"]
    os.close(master)
    os.close(slave)


def test_the_socket_is_for_its_owner_and_replaces_a_stale_one(node: SupervisedNode) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(node.socket))
    node.start([])
    assert stat.S_IMODE(node.socket.stat().st_mode) == 0o600
