"""libmachine's own `generic` driver as a plugin, through the whole life of a machine and of a node on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.driverplugins import provide_plugin
from support.secondmachine import SecondMachine, second_machine
from support.waiting import eventually

from minikube.output.reason import Reason
from minikube.testing.subject import Box, Subject, silent

STORE = "/var/cache/minikube"  # components stay there, as they do on this host


@pytest.fixture(scope="module")
def machine(node_image: Path) -> Iterator[SecondMachine]:
    with second_machine() as made:
        yield made


def left_behind(machine: SecondMachine) -> dict[str, list[str]]:
    found = machine.snapshot()
    return found | {"files": [path for path in found["files"] if not path.startswith(STORE)]}


def test_a_real_plugin_through_its_whole_life(machine: SecondMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / ".minikube"
    provide_plugin("libmachine", home / "bin", "lent-generic")
    monkeypatch.setenv("MINIKUBE_HOME", str(home))
    before = left_behind(machine)
    subject = Subject("lent-generic", [f"generic-ip-address={machine.address}", f"generic-ssh-key={machine.key}"])
    box = Box(subject, "m1")
    assert box.driver.state() == "Nonexistent"
    with pytest.raises(Reason, match='The machine "m1" does not exist'):
        box.driver.node()

    node = box.up()
    assert node.run(["hostname"]).stdout == b"m1\n"
    assert subject.again("m1").state() == "Running"
    assert "sleep 86400" in machine.run("ps", "-e", "-o", "args=")
    file = home / "machines/m1/config.json"
    kept = json.loads(file.read_text())
    assert (kept["ConfigVersion"], kept["DriverName"], kept["Name"]) == (3, "lent-generic", "m1")
    assert (kept["Driver"]["IPAddress"], kept["Driver"]["SSHPort"]) == (machine.address, 22)
    assert Path(kept["Driver"]["SSHKeyPath"]).read_bytes() == machine.key.read_bytes(), "the plugin has copied it"

    subject.again("m1").stop()
    assert subject.again("m1").state() == "Stopped"
    box.up()
    assert subject.again("m1").node().run(["hostname"]).stdout == b"m1\n"

    # The plugin takes a machine for off when nothing listens on its port.
    file.write_text(json.dumps(kept | {"Driver": kept["Driver"] | {"SSHPort": 23}}))
    assert subject.again("m1").state() == "Stopped"
    with pytest.raises(Reason, match='cannot start the machine "m1": generic driver does not support start') as caught:
        subject.again("m1").prepare(silent())
    assert caught.value.id == "GUEST_START"
    file.write_text(json.dumps(kept))

    subject.again("m1").delete()
    assert subject.again("m1").state() == "Nonexistent"
    # The other driver objects of this test have agents there, which end when they notice that their connection is gone.
    eventually(lambda: left_behind(machine) == before, seconds=60)
