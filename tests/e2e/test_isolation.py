"""A pod with every right tries the known ways from its node to the host. docs/security.md says what stops each."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import manifests
from support.attacker import SCRIPT, Prey, attacker, script
from support.minikube import CLONE, Minikube

from e2e.conftest import Cluster, not_ready
from e2e.pair import Pair
from e2e.test_limits import memory_limit

WAYS = [line.split()[1] for line in SCRIPT.splitlines() if line.startswith("try ")]
CONTROLS = [way for way in WAYS if way.startswith("control-")]
# Without a user namespace for the whole node, root in it is the kernel's root: docs/security.md, "Without a user namespace".
OPEN = {"core-pattern", "tracing"}
GENEROUS = 120


@pytest.fixture(scope="module")
def plain(pair: Pair, cluster: Cluster) -> Minikube:
    """A cluster whose node has no user namespace, with the test images."""
    pair.kept.ssh("ctr -n k8s.io images import -", input=(cluster.place.directory / "test-images.tar").read_bytes())
    return pair.kept


@pytest.fixture(scope="module")
def attack() -> Iterator[Callable[[Minikube, Minikube], dict[str, str]]]:
    """Have a pod of the first cluster try to get at things of the host that nobody in a node should ever see, and at the other cluster."""
    mark = secrets.token_hex(6)
    canary = Path.home() / f".minikube-canary-{mark}"
    canary.write_text("of the host")
    process = subprocess.Popen(["sleep", f"36{int(mark, 16) % 10**6:06}"])

    def run(minikube: Minikube, other: Minikube) -> dict[str, str]:
        prey = Prey(canary.name, str(process.args[1]), server.getsockname()[1], other.ok("ip").strip())  # type: ignore[index]
        minikube.apply(attacker("attacker"))
        minikube.kubectl("wait", "--for=condition=Ready", "pod/attacker", "--timeout=60s")
        lines = minikube.kubectl("exec", "-i", "attacker", "--", "sh", input=script(prey), timeout=GENEROUS).splitlines()
        minikube.kubectl("delete", "pod/attacker", "--wait=false")
        return dict(line.split(maxsplit=1) for line in lines)

    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield run
    finally:
        process.kill()
        process.wait()
        canary.unlink()


@pytest.fixture(scope="module")
def outcome(cluster: Cluster, pair: Pair, attack: Callable[[Minikube, Minikube], dict[str, str]]) -> dict[str, str]:
    return attack(cluster, pair.kept)


@pytest.fixture(scope="module")
def plain_outcome(cluster: Cluster, plain: Minikube, attack: Callable[[Minikube, Minikube], dict[str, str]]) -> dict[str, str]:
    return attack(plain, cluster)


@pytest.mark.parametrize("way", CONTROLS)
def test_the_attackers_tools_work(outcome: dict[str, str], plain_outcome: dict[str, str], way: str) -> None:
    """Otherwise a refusal would say nothing."""
    assert (outcome[way], plain_outcome[way]) == ("open", "open")


@pytest.mark.parametrize("way", [way for way in WAYS if way not in CONTROLS])
def test_no_way_leads_to_the_host(outcome: dict[str, str], way: str) -> None:
    assert outcome[way] == "refused"


def test_only_what_the_documentation_names_is_open_without_a_user_namespace(plain_outcome: dict[str, str]) -> None:
    found = {way for way, answer in plain_outcome.items() if answer == "open" and way not in CONTROLS}
    assert found <= OPEN


def test_root_in_a_node_is_nobody_on_the_host(cluster: Cluster, plain: Minikube) -> None:
    for minikube, shifted in ((cluster, True), (plain, False)):
        first, outside, count = minikube.ssh("cat /proc/self/uid_map").split()
        assert (first, int(outside) >= 0x70000000, int(count) <= 1 << 24) == ("0", shifted, shifted)


def test_limits_hold_also_when_the_node_lifts_its_own(plain: Minikube, plain_outcome: dict[str, str]) -> None:
    before = memory_limit(plain)
    assert plain_outcome["limit"] != str(before), "the attacker could not even try"
    assert memory_limit(plain) == before


def test_a_node_in_a_user_namespace_cannot_lift_even_its_own_limits(cluster: Cluster, outcome: dict[str, str]) -> None:
    assert outcome["limit"] == str(memory_limit(cluster))


def test_every_way_is_in_the_documentation() -> None:
    text = (CLONE / "docs/security.md").read_text()
    assert [way for way in WAYS if way not in CONTROLS and f"`{way}`" not in text] == []


def test_pods_run_under_the_runtimes_seccomp_profile(cluster: Cluster) -> None:
    cluster.apply(manifests.pod("filtered", "grep Seccomp: /proc/self/status", restart="Never"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/filtered", "--timeout=60s")
    assert cluster.kubectl("logs", "filtered").split() == ["Seccomp:", "2"]


def test_a_pod_that_wants_a_user_namespace_in_a_node_that_has_one_is_told_the_way(cluster: Cluster) -> None:
    pod = manifests.pod("mapped")
    pod["spec"]["hostUsers"] = False
    answer = cluster.run("kubectl", "--", "apply", "-f", "-", input=json.dumps(pod))
    assert answer.code != 0
    assert "minikube start --user-namespace=false" in answer.stderr


def test_a_pod_in_a_user_namespace_works_where_the_node_has_none(plain: Minikube) -> None:
    """With volumes, whose files belong to it."""
    pod = manifests.pod("mapped", "echo mine > /data/file && sleep 3600")
    pod["spec"]["hostUsers"] = False
    pod["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    plain.apply(pod)
    plain.kubectl("wait", "--for=condition=Ready", "pod/mapped", "--timeout=60s")
    first, outside, _ = plain.kubectl("exec", "mapped", "--", "cat", "/proc/self/uid_map").split()
    assert (first, int(outside) >= 65536) == ("0", True)
    assert plain.kubectl("exec", "mapped", "--", "stat", "-c", "%u", "/data/file").strip() == "0"
    plain.kubectl("delete", "pod/mapped", "--wait=false")


def test_a_cluster_made_without_a_user_namespace_can_get_one_and_keeps_its_data(plain: Minikube) -> None:
    """The last test of this file: the cluster is another afterwards."""
    plain.ssh("echo precious > /var/lib/word && chown 1234:5678 /var/lib/word")
    plain.kubectl("create", "configmap", "word", "--from-literal=word=precious")
    plain.ok("stop")
    plain.start("--user-namespace")
    assert plain.ssh("cat /proc/self/uid_map").split()[1] != "0"
    assert plain.ssh("cat /var/lib/word; stat -c %u:%g /var/lib/word").split() == ["precious", "1234:5678"]
    assert plain.get("configmap", "word")["data"] == {"word": "precious"}
    assert not_ready(plain.get("pods", "-n", "kube-system")["items"]) == []
