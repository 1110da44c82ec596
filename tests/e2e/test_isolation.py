"""A pod with every right tries the known ways from its node to the host. docs/security.md says what stops each."""

from __future__ import annotations

import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import manifests
from support.attacker import SCRIPT, Prey, attacker, script
from support.minikube import CLONE

from e2e.conftest import Cluster
from e2e.pair import Pair
from e2e.test_limits import memory_limit

WAYS = [line.split()[1] for line in SCRIPT.splitlines() if line.startswith("try ")]
CONTROLS = [way for way in WAYS if way.startswith("control-")]
# Without a user namespace for the whole node, root in it is the kernel's root: docs/security.md, "What is open".
OPEN = {"core-pattern", "tracing"}
GENEROUS = 120


@pytest.fixture(scope="module")
def prey(pair: Pair) -> Iterator[Prey]:
    """Things of the host that nobody in a node should ever see."""
    mark = secrets.token_hex(6)
    canary = Path.home() / f".minikube-canary-{mark}"
    canary.write_text("of the host")
    process = subprocess.Popen(["sleep", f"36{int(mark, 16) % 10**6:06}"])
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield Prey(canary.name, str(process.args[1]), server.getsockname()[1], pair.kept.ok("ip").strip())  # type: ignore[index]
    finally:
        process.kill()
        process.wait()
        canary.unlink()


@pytest.fixture(scope="module")
def outcome(cluster: Cluster, prey: Prey) -> dict[str, str]:
    cluster.apply(attacker("attacker"))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/attacker", "--timeout=60s")
    lines = cluster.kubectl("exec", "-i", "attacker", "--", "sh", input=script(prey), timeout=GENEROUS).splitlines()
    cluster.kubectl("delete", "pod/attacker", "--wait=false")
    return dict(line.split(maxsplit=1) for line in lines)


@pytest.mark.parametrize("way", CONTROLS)
def test_the_attackers_tools_work(outcome: dict[str, str], way: str) -> None:
    """Otherwise a refusal would say nothing."""
    assert outcome[way] == "open"


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=pytest.mark.xfail(strict=True, reason="open: docs/security.md")) if way in OPEN else way
        for way in WAYS
        if way not in CONTROLS
    ],
)
def test_no_way_leads_to_the_host(outcome: dict[str, str], way: str) -> None:
    assert outcome[way] == "refused"


def test_limits_hold_also_when_the_node_lifts_its_own(cluster: Cluster, outcome: dict[str, str]) -> None:
    before = memory_limit(cluster)
    assert outcome["limit"] != str(before), "the attacker could not even try"
    assert memory_limit(cluster) == before


def test_every_way_is_in_the_documentation() -> None:
    text = (CLONE / "docs/security.md").read_text()
    assert [way for way in WAYS if way not in CONTROLS and f"`{way}`" not in text] == []


def test_pods_run_under_the_runtimes_seccomp_profile(cluster: Cluster) -> None:
    cluster.apply(manifests.pod("filtered", "grep Seccomp: /proc/self/status", restart="Never"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/filtered", "--timeout=60s")
    assert cluster.kubectl("logs", "filtered").split() == ["Seccomp:", "2"]


def test_a_pod_in_a_user_namespace_works(cluster: Cluster) -> None:
    """With volumes, whose files belong to it."""
    pod = manifests.pod("mapped", "echo mine > /data/file && sleep 3600")
    pod["spec"]["hostUsers"] = False
    pod["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    cluster.apply(pod)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/mapped", "--timeout=60s")
    first, outside, _ = cluster.kubectl("exec", "mapped", "--", "cat", "/proc/self/uid_map").split()
    assert (first, int(outside) >= 65536) == ("0", True)
    assert cluster.kubectl("exec", "mapped", "--", "stat", "-c", "%u", "/data/file").strip() == "0"
    cluster.kubectl("delete", "pod/mapped", "--wait=false")
