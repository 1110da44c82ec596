"""Create, start, stop, restart, delete: the state after each, and each of them twice."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

import pytest

from minikube.drivers.values import File
from minikube.output.reason import Reason
from minikube.profiles.paths import machine_directory
from minikube.testing.subject import LIMITS, Box, eventually, silent


def test_a_machine_that_was_never_made(box: Box) -> None:
    assert box.driver.state() == "Nonexistent"
    box.driver.stop()
    box.driver.delete()
    assert box.driver.state() == "Nonexistent"
    for ask in (box.driver.node, box.driver.limits):
        with pytest.raises(Reason) as refused:
            ask()
        assert refused.value.id == "GUEST_LOAD_HOST"


def test_create_makes_a_stopped_box_whose_address_is_known(box: Box) -> None:
    node = box.create()
    assert box.driver.state() == "Stopped"
    assert ip_address(node.address)
    assert ip_address(node.gateway)
    assert node.name == box.machine.lower()
    assert node.forward(8443)[1] > 0
    assert box.driver.limits() == LIMITS


def test_create_twice_changes_nothing(box: Box) -> None:
    first = box.create()
    first.put({"/etc/kit": File(b"kept")})
    second = box.create()
    assert (second.address, second.read("/etc/kit")) == (first.address, b"kept")
    assert box.driver.state() == "Stopped"


def test_another_command_finds_what_this_one_made(box: Box) -> None:
    node = box.create()
    other = box.subject.again(box.machine)
    assert other.state() == "Stopped"
    assert other.node().address == node.address
    assert other.limits() == LIMITS


def test_images_are_given_once(box: Box) -> None:
    box.create()
    box.driver.fill(silent())
    box.driver.fill(silent())
    assert box.driver.state() == "Stopped"


def test_start_runs_the_services_after_the_drivers_own_setup(box: Box) -> None:
    box.create()
    box.start()
    assert box.driver.state() == "Running"
    node = box.node
    node.wait_for_services("sleeper", timeout=60)
    assert node.services()["sleeper"]["state"] in ("running", "ready")
    assert node.control.status()["setup"] == {"done": True, "failures": []}


def test_starting_or_creating_a_running_node_leaves_it_alone(box: Box) -> None:
    before = box.up().services()["sleeper"]["pid"]
    box.start(services=[])
    box.create()
    assert box.driver.state() == "Running"
    assert box.node.services()["sleeper"]["pid"] == before


def test_stop_keeps_files_and_address_for_the_next_start(box: Box) -> None:
    node = box.up()
    address = node.address
    assert node.run(["sh", "-c", "echo precious > /var/lib/kit"]).code == 0
    box.driver.stop()
    assert box.driver.state() == "Stopped"
    box.driver.stop()
    assert box.driver.state() == "Stopped"
    with pytest.raises(Reason):
        box.node.run(["true"], timeout=30)
    with pytest.raises(Reason):
        box.node.services()
    node = box.up()
    assert box.driver.state() == "Running"
    assert (node.address, node.read("/var/lib/kit")) == (address, b"precious\n")


def test_what_is_not_kept_is_gone_after_a_restart(box: Box) -> None:
    assert box.up().run(["sh", "-c", "touch /run/kit && test -e /run/kit"]).code == 0
    box.driver.stop()
    assert box.up().run(["test", "-e", "/run/kit"]).code == 1


def test_a_node_that_ends_by_itself_is_stopped_and_can_be_started_again(box: Box) -> None:
    """The machine vanished under our feet: somebody shut it down, or it crashed."""
    box.up().run(["sh", "-c", "kill -TERM 1"])
    eventually(lambda: box.driver.state() == "Stopped")
    box.up()
    assert box.driver.state() == "Running"


def test_delete_ends_a_running_node_and_leaves_no_file(box: Box) -> None:
    box.up().put({"/etc/kit": File(b"old")})
    box.driver.delete()
    assert box.driver.state() == "Nonexistent"
    box.driver.delete()
    assert box.driver.state() == "Nonexistent"
    assert not machine_directory(box.machine).exists() or {file.name for file in machine_directory(box.machine).iterdir()} <= {
        "config.json"
    }


def test_a_deleted_machine_can_be_made_anew(box: Box) -> None:
    box.create().put({"/etc/kit": File(b"old")})
    box.driver.delete()
    box.driver = box.subject.driver(box.machine)
    assert not box.create().exists("/etc/kit")
    box.start()
    assert box.driver.state() == "Running"


def test_two_nodes_at_once_know_nothing_of_each_other(boxes: Callable[[], Box]) -> None:
    one, two = boxes(), boxes()
    first, second = one.up(), two.up()
    assert first.forward(8443) != second.forward(8443)
    first.put({"/etc/kit": File(b"first")})
    assert not second.exists("/etc/kit")
    assert second.run(["pkill", "-x", "sleep"]).code == 0
    assert first.services()["sleeper"]["restarts"] == 0
    one.driver.delete()
    assert (one.driver.state(), two.driver.state()) == ("Nonexistent", "Running")
    assert two.node.run(["echo", "alive"]).stdout == b"alive\n"
