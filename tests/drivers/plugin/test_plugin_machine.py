"""A machine that a plugin makes: its life, what is kept about it, and what is said when something goes wrong."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.drivers import machinefile
from minikube.drivers.plugin.definition import plugin_definition
from minikube.drivers.plugin.driver import PluginDriver
from minikube.drivers.plugin.machine import PluginMachine
from minikube.output.progress import silent
from minikube.output.reason import Reason
from minikube.profiles.clusterconfig import new_cluster_config
from minikube.profiles.settings import Settings

pytestmark = pytest.mark.build


class Banner(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"SSH-2.0-banner\r\n")


@pytest.fixture
def port() -> Iterator[int]:
    """Where something says that it speaks SSH."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Banner) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / ".minikube"))
    monkeypatch.delenv("MISBEHAVE", raising=False)
    return tmp_path / ".minikube"


def configured(binary: Path, before: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """The configuration of the machine `m1`, kept as `start` keeps it."""
    definition = plugin_definition("misbehaving", binary)
    known = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS, *definition.flags())}
    settings = Settings(known, {name.replace("_", "-"): value for name, value in given.items()}, use_file=False)
    own = definition.configure(new_cluster_config("m1"), settings, before or {})
    machinefile.save("m1", "misbehaving", own)
    return own


@pytest.fixture
def machine(home: Path, port: int, misbehaving: Path) -> PluginMachine:
    return PluginMachine("misbehaving", misbehaving, "m1", configured(misbehaving, misbehaving_number=port))


def refused(machine: PluginMachine) -> Reason:
    with pytest.raises(Reason) as caught:
        machine.ensure_running(silent())
    return caught.value


def test_its_life(machine: PluginMachine, home: Path, port: int) -> None:
    assert machine.target() is None
    machine.ensure_running(silent())
    assert machine.state() == "Running"
    assert machine.target() == {"IPAddress": "127.0.0.1", "SSHPort": port, "SSHUser": "user", "SSHKeyPath": ""}
    (home / "machines/m1/disks").mkdir()
    (home / "machines/m1/disks/1").touch()
    machine.stop()
    assert machine.state() == "Stopped"
    machine.ensure_running(silent())
    assert machine.state() == "Running"
    machine.remove()
    assert machine.target() is None
    assert [file.name for file in (home / "machines/m1").iterdir()] == ["config.json"]
    machine.remove()


def test_what_is_kept_has_libmachines_shape(machine: PluginMachine, home: Path) -> None:
    machine.ensure_running(silent())
    file = home / "machines/m1/config.json"
    kept = json.loads(file.read_text())
    assert (kept["ConfigVersion"], kept["DriverName"], kept["Name"]) == (3, "misbehaving", "m1")
    assert {"MachineName": "m1", "StorePath": str(home), "IPAddress": "127.0.0.1"}.items() <= kept["Driver"].items()
    assert kept["Driver"]["Flags"]["misbehaving-text"] == "as it was"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_machine_that_is_made_keeps_its_settings(machine: PluginMachine, misbehaving: Path) -> None:
    machine.ensure_running(silent())
    before = machinefile.load("m1")
    assert configured(misbehaving, before, misbehaving_text="another") == before


@pytest.mark.parametrize(
    ("how", "words"),
    [("check", "the hypervisor is not installed"), ("create", "no space left for machines"), ("panic", "Panic in the driver: nil map")],
)
def test_a_machine_that_cannot_be_made(
    machine: PluginMachine, misbehaving: Path, monkeypatch: pytest.MonkeyPatch, port: int, how: str, words: str
) -> None:
    monkeypatch.setenv("MISBEHAVE", how)
    reason = refused(machine)
    assert (reason.id, reason.exit_code) == ("GUEST_PROVISION", 80)
    assert reason.message == f"The driver 'misbehaving' cannot make the machine \"m1\": {words}", "the driver's sentence, without a stack"
    assert machine.target() is None
    monkeypatch.delenv("MISBEHAVE")
    own = configured(misbehaving, machinefile.load("m1"), misbehaving_number=port, misbehaving_text="mended")
    PluginMachine("misbehaving", misbehaving, "m1", own).ensure_running(silent())
    assert machinefile.load("m1")["Flags"]["misbehaving-text"] == "mended"


def test_what_a_creation_that_was_cut_short_left_is_removed_first(
    machine: PluginMachine, misbehaving: Path, monkeypatch: pytest.MonkeyPatch, home: Path, port: int
) -> None:
    monkeypatch.setenv("MISBEHAVE", "exit")
    reason = refused(machine)
    assert (reason.id, "ended with exit code 4 (out of luck) during Create" in reason.message) == ("GUEST_PROVISION", True)
    (home / "machines/m1/machine.state").write_text("7")
    monkeypatch.setenv("MISBEHAVE", "create")
    own = configured(misbehaving, machinefile.load("m1"), misbehaving_number=port)
    refused(PluginMachine("misbehaving", misbehaving, "m1", own))
    assert not (home / "machines/m1/machine.state").exists()


def test_half_a_machine_can_be_deleted(machine: PluginMachine, misbehaving: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("MISBEHAVE", "killed")
    refused(machine)
    (home / "machines/m1/machine.state").write_text("6")
    monkeypatch.delenv("MISBEHAVE")
    driver = PluginDriver("misbehaving", misbehaving, "m1", machinefile.load("m1"))
    assert driver.state() == "Nonexistent"
    driver.delete()
    assert not (home / "machines/m1/machine.state").exists()


def test_a_machine_that_has_vanished(machine: PluginMachine, home: Path) -> None:
    machine.ensure_running(silent())
    (home / "machines/m1/machine.state").unlink()
    reason = refused(machine)
    assert (reason.id, reason.exit_code) == ("GUEST_PROVISION", 80)
    assert "made is gone: the machine does not exist" in reason.message
    assert "minikube delete" in reason.advice
    with pytest.raises(Reason, match='cannot tell how the machine "m1" is: the machine does not exist') as caught:
        machine.state()
    assert caught.value.id == "GUEST_STATUS"
    machine.remove()
    assert machine.target() is None


@pytest.mark.parametrize(
    ("how", "act", "id", "words"),
    [
        ("stop", "stop", "GUEST_STOP_TIMEOUT", 'cannot stop the machine "m1": it does not listen'),
        ("remove", "remove", "GUEST_DELETION", 'cannot remove the machine "m1": it is wanted elsewhere'),
        ("state", "state", "GUEST_STATUS", "answered GetState with 99, which is no state"),
    ],
)
def test_what_the_driver_refuses(machine: PluginMachine, monkeypatch: pytest.MonkeyPatch, how: str, act: str, id: str, words: str) -> None:
    machine.ensure_running(silent())
    monkeypatch.setenv("MISBEHAVE", how)
    with pytest.raises(Reason) as caught:
        getattr(machine, act)()
    assert caught.value.id == id
    assert words in caught.value.message
    assert machine.target() is not None


def test_settings_come_from_flags_then_environment_then_the_plugins_defaults(
    home: Path, misbehaving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISBEHAVING_TEXT", "from its variable")
    monkeypatch.setenv("MISBEHAVING_NUMBER", "5")
    monkeypatch.setenv("MISBEHAVING_LIST", "a, b")
    monkeypatch.setenv("MINIKUBE_MISBEHAVING_OTHER", "from ours")
    found = configured(misbehaving, misbehaving_number=6)["Flags"]
    assert found["misbehaving-text"] == "from its variable"
    assert found["misbehaving-number"] == 6
    assert found["misbehaving-list"] == ["a", "b"]
    assert found["misbehaving-other"] == "from ours"
    assert found["misbehaving-switch"] is False


@pytest.mark.parametrize(
    ("given", "variable", "words"),
    [
        ({"misbehaving_switch": True}, "", "does not accept its settings: the switch must stay off"),
        ({}, "many", "the environment variable MISBEHAVING_NUMBER is not valid"),
    ],
)
def test_settings_that_are_refused(
    home: Path, misbehaving: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], variable: str, words: str
) -> None:
    monkeypatch.setenv("MISBEHAVING_NUMBER", variable)
    with pytest.raises(Reason, match=words) as caught:
        configured(misbehaving, **given)
    assert (caught.value.id, caught.value.exit_code) == ("MK_USAGE", 14)
