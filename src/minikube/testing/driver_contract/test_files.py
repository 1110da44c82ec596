"""Files into a node and out of it, running or stopped, with their modes."""

from __future__ import annotations

import os
import secrets
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minikube.drivers.base import Node
from minikube.drivers.values import File
from minikube.testing.subject import Box

MODES = (0o600, 0o644, 0o755, 0o400)
MEGABYTE = 1 << 20


@pytest.mark.parametrize("mode", MODES)
def test_a_file_has_the_content_and_mode_it_was_given(node: Node, mode: int) -> None:
    path, file = f"/etc/kit/{mode:o}", File(b"content\n", mode)
    node.put({path: file})
    assert node.get(path) == {path: file}
    assert node.run(["stat", "-c", "%a %u %g %F", path]).stdout.decode() == f"{mode:o} 0 0 regular file\n"
    assert node.run(["cat", path]).stdout == file.content


def test_bytes_stay_bytes(node: Node) -> None:
    data = bytes(range(256)) + b"\r\n\0" + os.urandom(4 * MEGABYTE)
    node.put({"/var/lib/kit/blob": File(data)})
    assert node.read("/var/lib/kit/blob") == data
    assert node.run(["cat", "/var/lib/kit/blob"]).stdout == data


def test_an_empty_file_is_not_a_missing_one(node: Node) -> None:
    node.put({"/etc/kit/empty": File(b"")})
    assert node.read("/etc/kit/empty") == b""
    assert node.read("/etc/kit/missing") is None
    assert node.get("/etc/kit/empty", "/etc/kit/missing", "/no/such/directory") == {"/etc/kit/empty": File(b"")}


def test_what_exists(node: Node) -> None:
    node.put({"/etc/kit/there": File(b"x")})
    assert [node.exists(path) for path in ("/etc/kit/there", "/etc/kit", "/etc/kit/not", "/etc/kit/there/below")] == [
        True,
        True,
        False,
        False,
    ]


def test_directories_above_are_made_for_everyone_to_pass(node: Node) -> None:
    node.put({"/opt/kit/deep/er/file": File(b"x")})
    assert node.run(["stat", "-c", "%a", "/opt/kit/deep"]).stdout == b"755\n"


def test_a_file_is_replaced_with_its_mode(node: Node) -> None:
    node.put({"/etc/kit/changing": File(b"a long first content", 0o644)})
    node.put({"/etc/kit/changing": File(b"short", 0o600)})
    assert node.get("/etc/kit/changing") == {"/etc/kit/changing": File(b"short", 0o600)}


@pytest.mark.parametrize("name", ["with space", "ünïcödé", "-dash", "quote'\"", "back\\slash", "*"])
def test_names_are_just_names(node: Node, name: str) -> None:
    node.put({f"/etc/kit/names/{name}": File(b"x")})
    assert node.read(f"/etc/kit/names/{name}") == b"x"
    assert node.run(["test", "-f", f"/etc/kit/names/{name}"]).code == 0


def test_a_directory_gives_every_regular_file_below_it(node: Node) -> None:
    files = {"/srv/kit/one": File(b"1", 0o600), "/srv/kit/sub/two": File(b"2", 0o644), "/srv/kit/sub/empty": File(b"")}
    node.put(files)
    assert node.run(["sh", "-c", "mkdir -p /srv/kit/hollow && mkfifo /srv/kit/pipe"]).code == 0
    assert node.get("/srv/kit") == files


def test_many_at_once_from_several_threads(node: Node) -> None:
    files = {f"/var/lib/kit/many/{number}": File(os.urandom(2000)) for number in range(200)}
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda path: node.put({path: files[path]}), files):
            pass
    assert node.get("/var/lib/kit/many") == files


def test_places_that_are_memory_can_be_reached_while_the_node_runs(node: Node) -> None:
    node.put({"/run/kit/file": File(b"volatile", 0o640)})
    assert node.get("/run/kit/file") == {"/run/kit/file": File(b"volatile", 0o640)}
    assert node.run(["cat", "/run/kit/file"]).stdout == b"volatile"


def test_a_link_in_the_node_leads_to_files_of_the_node(node: Node) -> None:
    """What runs in a node may put links anywhere: followed on the host, they would give away or overwrite the host's files."""
    name = f"kit-{secrets.token_hex(4)}"
    outside = Path("/var/tmp") / name
    outside.write_text("of the host")
    try:
        links = f"ln -sfn /var/tmp/{name} /etc/kit-link && ln -sfn /var/tmp /etc/kit-way"
        script = f"mkdir -p /var/tmp && echo of the node > /var/tmp/{name} && {links}"
        assert node.run(["sh", "-c", script]).code == 0
        assert node.read("/etc/kit-link") == node.read(f"/etc/kit-way/{name}") == b"of the node\n"
        node.put({f"/etc/kit-way/{name}": File(b"changed")})
        assert outside.read_text() == "of the host"
        assert node.run(["cat", f"/var/tmp/{name}"]).stdout == b"changed"
    finally:
        outside.unlink()


def test_a_stopped_node_takes_and_gives_files(box: Box) -> None:
    node = box.create()
    files = {"/etc/kit/key": File(b"secret", 0o600), "/var/lib/kit/tool": File(b"#!/bin/sh\necho ran\n", 0o755)}
    node.put(files)
    assert node.get("/etc/kit", "/var/lib/kit") == files
    assert node.exists("/etc/kit/key")
    running = box.up()
    assert running.get("/etc/kit", "/var/lib/kit") == files
    assert running.run(["/var/lib/kit/tool"]).stdout == b"ran\n"
    running.run(["sh", "-c", "echo more >> /etc/kit/key"])
    box.driver.stop()
    assert box.node.read("/etc/kit/key") == b"secretmore\n"
    assert stat.S_IMODE(box.node.get("/etc/kit/key")["/etc/kit/key"].mode) == 0o600
