"""Services in a node, its address, and the way to its ports."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from minikube.drivers.base import Node
from minikube.output.reason import Reason
from minikube.testing.subject import GREETING, PORT, eventually


def service(node: Node, name: str) -> dict[str, Any]:
    return node.services()[name]


def test_services_are_what_the_metadata_asks_for(node: Node) -> None:
    node.wait_for_services("sleeper", "once", timeout=60)
    states = {name: found["state"] for name, found in node.services().items()}
    assert states == {"sleeper": "running", "idle": "stopped", "once": "done", "greeter": "running"}


def test_one_that_crashes_is_started_again(node: Node) -> None:
    before = service(node, "sleeper")
    assert node.run(["kill", "-KILL", str(before["pid"])]).code == 0
    eventually(lambda: (found := service(node, "sleeper"))["restarts"] > before["restarts"] and found["pid"])
    after = service(node, "sleeper")
    assert after["pid"] != before["pid"]
    assert after["last_exit"] == 137


def test_stop_lasts_until_start(node: Node) -> None:
    pid = service(node, "sleeper")["pid"]
    node.stop_services("sleeper")
    assert service(node, "sleeper")["state"] == "stopped"
    assert node.run(["test", "-d", f"/proc/{pid}"]).code == 1
    node.stop_services("sleeper")
    node.start_services("sleeper")
    node.wait_for_services("sleeper", timeout=60)
    assert service(node, "sleeper")["pid"] not in (0, pid)


def test_one_that_does_not_start_by_itself_can_be_started(node: Node) -> None:
    node.start_services("idle")
    node.wait_for_services("idle", timeout=60)
    pid = service(node, "idle")["pid"]
    node.start_services("idle")
    assert service(node, "idle")["pid"] == pid
    node.stop_services("idle")


def test_restart_gives_a_new_process(node: Node) -> None:
    before = service(node, "sleeper")["pid"]
    node.restart_services("sleeper")
    eventually(lambda: service(node, "sleeper")["pid"] not in (0, before))


def test_waiting_for_one_that_does_not_come_ends(node: Node) -> None:
    with pytest.raises(Reason):
        node.wait_for_services("idle", timeout=0.2)


@pytest.mark.parametrize("verb", ["start_services", "stop_services", "restart_services", "wait_for_services"])
def test_a_service_that_nobody_knows(node: Node, verb: str) -> None:
    with pytest.raises(Reason):
        getattr(node, verb)("nobody")


def test_the_address_is_one_of_the_nodes_own(node: Node) -> None:
    shown = node.run(["ip", "-o", "addr", "show"]).stdout.decode()
    assert f" {node.address}/" in shown


def test_this_host_reaches_a_port_of_the_node(node: Node) -> None:
    node.wait_for_services("greeter", timeout=60)

    def answer() -> bytes:
        try:
            with socket.create_connection(node.forward(PORT), timeout=10) as connection:
                return connection.makefile("rb").read()
        except OSError as error:
            return b"" if isinstance(error, ConnectionError) else str(error).encode()

    assert eventually(lambda: answer() == GREETING)


def test_asked_twice_the_way_is_the_same(node: Node) -> None:
    assert node.forward(PORT) == node.forward(PORT)
