"""With systemd as the machine's first process: a cluster lives in a unit of systemd's making, which is handed over to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.bootedsystemd import Booted, booted_systemd
from support.minikube import Minikube
from support.waiting import eventually


def units(machine: Booted) -> list[str]:
    """Every unit of ours that systemd knows, ended ones too."""
    return re.findall(r"\bminikube-[0-9a-f]{8}\.\w+", machine.do("systemctl", "list-units", "--all", "--plain", "--no-legend"))


def traces(machine: Booted) -> list[str]:
    groups = machine.do("find", "/sys/fs/cgroup", "-name", "*minikube*").split()
    return [*units(machine), *groups, *re.findall(r"mk-\w+", machine.do("ip", "link"))]


@pytest.mark.skipif(Path("/sys/fs/cgroup/cgroup.controllers").exists(), reason="in a container, this needs a delegated group of version 2")
def test_a_cluster_under_systemd(node_image: Path) -> None:
    with booted_systemd() as machine:
        # Only the host reaches this one, so there is a relay.
        machine.do("sh", "-c", "echo nameserver 127.0.0.1 > /etc/resolv.conf")
        cluster = Minikube(machine, "minikube")
        try:
            a_start_that_is_killed_leaves_what_stop_can_end(machine, cluster)
            cluster.start()
            everything_is_in_the_unit(machine, cluster)
            the_administrator_can_end_it(machine, cluster)
        finally:
            answer = machine.run("delete", "--all", "--purge", timeout=180)
        assert answer.code == 0, answer
        assert traces(machine) == []
        assert machine.do("systemctl", "is-system-running").strip() == "running"


def a_start_that_is_killed_leaves_what_stop_can_end(machine: Booted, cluster: Minikube) -> None:
    machine.environment["MINIKUBE_DIE_AT"] = "start the node:after"
    answer = cluster.run("start", timeout=300)
    del machine.environment["MINIKUBE_DIE_AT"]
    assert (answer.code != 0, len(units(machine))) == (True, 1), answer
    cluster.ok("stop")
    assert traces(machine) == []


def everything_is_in_the_unit(machine: Booted, cluster: Minikube) -> None:
    # The unit that started it has ended, with every process in its control group.
    machine.do("systemctl", "daemon-reload")
    assert cluster.run("status").code == 0
    assert "Ready" in cluster.kubectl("get", "nodes")
    [unit] = units(machine)
    assert unit == f"minikube-{cluster.host_id}.scope"
    told = machine.do("systemctl", "show", unit, "--property=ActiveState,Delegate,Transient,SubState").split()
    assert sorted(told) == ["ActiveState=active", "Delegate=yes", "SubState=running", "Transient=yes"]
    shown = machine.do("systemctl", "status", "--full", "--lines=0", unit)
    assert "minikube node minikube" in shown
    for program in ("supervisor.py", "kubelet", "etcd", "dnsrelay.py"):
        assert program in shown
    assert f"systemd unit {unit}" in cluster.ok("status", "--host-changes")
    assert machine.do("systemctl", "--failed", "--no-legend") == ""


def the_administrator_can_end_it(machine: Booted, cluster: Minikube) -> None:
    """As systemd does it itself when the machine goes down."""
    machine.do("systemctl", "stop", *units(machine))
    assert units(machine) == []
    assert "host: Stopped" in cluster.run("status").stdout
    assert eventually(lambda: "dnsrelay.py" not in machine.do("ps", "ax"))
