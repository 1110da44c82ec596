"""The second machine is what tests over SSH take it for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from support.secondmachine import SecondMachine, second_machine

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(os.geteuid() != 0, reason="the machine is made of namespaces, which needs root")]


@pytest.fixture(scope="module")
def machine() -> Iterator[SecondMachine]:
    with second_machine() as made:
        yield made


def ssh(machine: SecondMachine, user: str, *words: str) -> subprocess.CompletedProcess[str]:
    options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
    argv = ["ssh", "-F", "none", *(f"-o{option}" for option in options), "-i", str(machine.key), f"{user}@{machine.address}", *words]
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_its_users_are_who_they_should_be(machine: SecondMachine) -> None:
    assert ssh(machine, "root", "id -u").stdout == "0\n"
    assert ssh(machine, "dev", "id -u; sudo -n id -u").stdout == "1000\n0\n"
    assert ssh(machine, "guest", "sudo -n id -u").returncode == 1


def test_it_sees_itself_alone(machine: SecondMachine) -> None:
    assert ssh(machine, "root", "ls /sys/class/net").stdout.split() == ["eth0", "lo"]
    assert ssh(machine, "root", "command -v python3 systemctl").stdout == ""
    assert "/mk-second-machine" not in ssh(machine, "root", "cat /proc/1/cgroup").stdout
    before = machine.snapshot()
    ssh(machine, "root", "mkdir /var/lib/left-behind")
    assert machine.snapshot()["files"] != before["files"]
    ssh(machine, "root", "rmdir /var/lib/left-behind")
    assert machine.snapshot() == before
