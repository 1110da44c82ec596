"""Real plugins, compiled from their authors' Go modules."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.driverplugins import provide_plugin

from minikube.drivers.plugin.client import running_plugin
from minikube.drivers.plugin.netrpc import RemoteError

pytestmark = pytest.mark.build


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "machines/m1").mkdir(parents=True)
    return tmp_path


def test_libmachines_none_through_its_whole_life(libmachine: Path, store: Path) -> None:
    binary = libmachine / "docker-machine-driver-real-none"
    with running_plugin("none", binary, config={"MachineName": "m1", "StorePath": str(store)}) as plugin:
        assert plugin.driver_name() == "none"
        (url,) = plugin.create_flags()
        assert (url.name, url.kind, url.usage) == ("url", "string", "URL of host when no driver is selected")
        plugin.set_flags({"url": "tcp://192.0.2.1:2376"})
        plugin.pre_create_check()
        plugin.create()
        kept = plugin.config()
        assert kept["URL"] == "tcp://192.0.2.1:2376"
    with running_plugin("none", binary, config=json.dumps(kept).encode()) as plugin:
        assert (plugin.machine_name(), plugin.url(), plugin.ip()) == ("m1", "tcp://192.0.2.1:2376", "192.0.2.1:2376")
        assert plugin.state() == "Running"
        assert plugin.ssh_username() == ""
        with pytest.raises(RemoteError, match="hosts without a driver cannot be stopped"):
            plugin.stop()
        plugin.remove()


def test_libmachines_generic_says_what_it_needs(libmachine: Path, store: Path) -> None:
    binary = libmachine / "docker-machine-driver-real-generic"
    with running_plugin("generic", binary, config={"MachineName": "m1", "StorePath": str(store)}) as plugin:
        flags = {flag.name: flag for flag in plugin.create_flags()}
        assert flags["generic-ssh-port"].kind == "int"
        assert (flags["generic-ssh-port"].default, flags["generic-ssh-port"].variable) == (22, "GENERIC_SSH_PORT")
        with pytest.raises(RemoteError, match="generic driver requires the --generic-ip-address option"):
            plugin.set_flags({name: flag.default for name, flag in flags.items()})


def test_a_plugin_of_a_third_party_as_far_as_it_goes_without_its_hypervisor(store: Path) -> None:
    binary = provide_plugin("vmware", store / "bin", "real-vmware")
    with running_plugin("vmware", binary, config={"MachineName": "m1", "StorePath": str(store)}) as plugin:
        assert plugin.driver_name() == "vmware"
        flags = {flag.name: flag for flag in plugin.create_flags()}
        assert flags["vmware-cpu-count"].kind == "int"
        plugin.set_flags({name: flag.default for name, flag in flags.items()} | {"vmware-cpu-count": 3})
        assert plugin.config()["CPU"] == 3
        with pytest.raises(RemoteError, match=r"m1\.vmx: no such file"):
            plugin.state()


def test_started_by_hand_it_says_what_it_is(libmachine: Path) -> None:
    done = subprocess.run([libmachine / "docker-machine-driver-real-none"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "This is a Docker Machine plugin binary." in done.stderr
