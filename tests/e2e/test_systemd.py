"""With systemd as the machine's first process: a cluster outlives the unit that started it, and systemd finds nothing to complain about."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bootedsystemd import booted_systemd
from support.minikube import Minikube


@pytest.mark.skipif(Path("/sys/fs/cgroup/cgroup.controllers").exists(), reason="in a container, this needs a delegated group of version 2")
def test_a_cluster_under_systemd(node_image: Path) -> None:
    with booted_systemd() as machine:
        cluster = Minikube(machine, "minikube")
        try:
            cluster.start()
            # The unit that started it has ended, with every process in its control group.
            machine.do("systemctl", "daemon-reload")
            assert cluster.run("status").code == 0
            assert "Ready" in cluster.kubectl("get", "nodes")
            assert machine.do("systemctl", "--failed", "--no-legend") == ""
            cluster.ok("stop")
        finally:
            answer = machine.run("delete", "--all", "--purge", timeout=180)
        assert answer.code == 0, answer
        assert "minikube" not in machine.do("find", "/sys/fs/cgroup", "-name", "*minikube*")
        assert "mk-" not in machine.do("ip", "link")
        assert machine.do("systemctl", "is-system-running").strip() == "running"
