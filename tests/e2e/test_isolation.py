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
from support.attacker import ORDINARY_SCRIPT, SCRIPT, Prey, attacker, ordinary, script
from support.minikube import CLONE, Minikube
from support.waiting import eventually

from e2e.conftest import Cluster, not_ready
from e2e.pair import Pair
from e2e.test_limits import memory_limit
from minikube.drivers.native import sysctlguard
from minikube.kubernetes import hostusers

WAYS = [line.split()[1] for line in (SCRIPT + ORDINARY_SCRIPT).splitlines() if line.startswith("try ")]
CONTROLS = [way for way in WAYS if way.startswith("control-")]
# Without a user namespace for the whole node, root in it is the kernel's root: docs/security.md, "Without a user namespace".
OPEN = {"tracing"} | (set() if sysctlguard.is_possible() else {"core-pattern", "setting-by-volume", "setting-of-container"})
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
    services: list[socket.socket] = []

    def run(minikube: Minikube, other: Minikube) -> dict[str, str]:
        gateway = minikube.ok("ip").strip().rpartition(".")[0] + ".1"
        services.append(socket.create_server((gateway, 0)))
        service = f"{gateway} {services[-1].getsockname()[1]}"
        prey = Prey(canary.name, str(process.args[1]), server.getsockname()[1], service, other.ok("ip").strip())  # type: ignore[index]
        minikube.apply(attacker("attacker"), ordinary("ordinary"))
        minikube.kubectl("wait", "--for=condition=Ready", "pod/attacker", "pod/ordinary", "--timeout=60s")
        lines = minikube.kubectl("exec", "-i", "ordinary", "--", "sh", input=script(prey, ORDINARY_SCRIPT), timeout=GENEROUS).splitlines()
        lines += minikube.kubectl("exec", "-i", "attacker", "--", "sh", input=script(prey), timeout=GENEROUS).splitlines()
        minikube.kubectl("delete", "pod/attacker", "pod/ordinary", "--wait=false")
        return dict(line.split(maxsplit=1) for line in lines)

    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield run
    finally:
        for service in services:
            service.close()
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


def test_pods_have_ipc_settings_of_their_own_in_both_kinds_of_node(cluster: Cluster, plain: Minikube) -> None:
    """The node's, and those of other pods, stay as they are."""
    for minikube in (cluster, plain):
        pod = manifests.pod("shm", "cat /proc/sys/kernel/shm_rmid_forced", restart="Never")
        pod["spec"]["securityContext"] = {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}
        minikube.apply(pod)
        minikube.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/shm", "--timeout=60s")
        assert minikube.kubectl("logs", "shm").strip() == "1"
        assert minikube.ssh("cat /proc/sys/kernel/shm_rmid_forced").strip() == "0"
        minikube.kubectl("delete", "pod", "shm", "--wait=false")


def test_every_way_is_in_the_documentation() -> None:
    text = (CLONE / "docs/security.md").read_text()
    assert [way for way in WAYS if way not in CONTROLS and f"`{way}`" not in text] == []


def test_pods_run_under_the_runtimes_seccomp_profile(cluster: Cluster) -> None:
    cluster.apply(manifests.pod("filtered", "grep Seccomp: /proc/self/status", restart="Never"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/filtered", "--timeout=60s")
    assert cluster.kubectl("logs", "filtered").split() == ["Seccomp:", "2"]


LOOK = """
echo map $(cat /proc/self/uid_map)
for place in empty memory config token data; do echo $place $(stat -Lc %u:%g /$place/*); done
echo image $(stat -c %u:%g /bin/busybox)
chown 5:6 /empty/file && touch /bin/new && echo changed $(stat -c %u:%g /empty/file /bin/new)
"""


def mapped(name: str, claim: str = "") -> manifests.Object:
    """A pod in a user namespace of its own, with a volume of each kind."""
    pod = manifests.pod(name, "touch /empty/file /memory/file && { [ ! -d /data ] || touch /data/of-mapped; } && sleep 3600", claim=claim)
    sources: dict[str, manifests.Object] = {
        "empty": {"emptyDir": {}},
        "memory": {"emptyDir": {"medium": "Memory"}},
        "config": {"configMap": {"name": "kube-root-ca.crt"}},
        "token": {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    }
    spec, container = pod["spec"], pod["spec"]["containers"][0]
    spec["hostUsers"] = False
    spec["volumes"] = [*spec.get("volumes", []), *({"name": kind, **source} for kind, source in sources.items())]
    container["volumeMounts"] = [*container.get("volumeMounts", []), *({"name": kind, "mountPath": f"/{kind}"} for kind in sources)]
    return pod


def seen_by(minikube: Minikube, pod: str) -> dict[str, list[str]]:
    minikube.kubectl("wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=60s")
    lines = minikube.kubectl("exec", "-i", pod, "--", "sh", input=LOOK).splitlines()
    return {words[0]: words[1:] for words in map(str.split, lines)}


def test_pods_have_user_namespaces_of_their_own_in_both_kinds_of_node(cluster: Cluster, plain: Minikube) -> None:
    """With files in volumes that belong to them, and ids that are nobody else's."""
    for minikube, names in ((cluster, ("mapped", "mapped-too")), (plain, ("mapped",))):
        minikube.apply(manifests.claim("mapped"), mapped(names[0], claim="mapped"), *map(mapped, names[1:]))
        seen = [seen_by(minikube, name) for name in names]
        for own in seen:
            assert (own["map"][0], int(own["map"][1]) % 65536, own["map"][2]) == ("0", 0, "65536")
            assert (own["empty"], own["memory"], own["config"], own["token"], own["image"]) == (["0:0"],) * 5
            assert own["changed"] == ["5:6", "0:0"]
        assert seen[0]["data"] == ["0:0"]
        assert len({own["map"][1] for own in seen} | {"0"}) == len(seen) + 1
        assert minikube.ssh("find /tmp/hostpath-provisioner -name of-mapped | xargs stat -c %u").split() == ["0"]
    cluster.kubectl("delete", "pvc/mapped", "pod/mapped", "pod/mapped-too", "--wait=false")


def test_where_pods_cannot_have_one_they_are_told_the_way(cluster: Cluster) -> None:
    cluster.apply(*hostusers.objects())
    try:
        answer = eventually(lambda: _refusal(cluster))
        assert "minikube start --user-namespace=false" in answer
    finally:
        cluster.kubectl("delete", *(f"{obj['kind']}/{hostusers.NAME}" for obj in hostusers.objects()))


def _refusal(cluster: Cluster) -> str:
    """What the API server says about such a pod, which is not made; nothing as long as it would be."""
    answer = cluster.run("kubectl", "--", "apply", "--dry-run=server", "-f", "-", input=json.dumps(mapped("refused")))
    return answer.stderr if answer.code else ""


def test_a_cluster_made_without_a_user_namespace_can_get_one_and_keeps_its_data(plain: Minikube) -> None:
    """The last test of this file: the cluster is another afterwards."""
    plain.ssh("echo precious > /var/lib/word && chown 1234:5678 /var/lib/word")
    plain.kubectl("create", "configmap", "word", "--from-literal=word=precious")
    plain.ok("stop")
    plain.start("--user-namespace")
    assert plain.ssh("cat /proc/self/uid_map").split()[1] != "0"
    assert plain.ssh("cat /var/lib/word; stat -c %u:%g /var/lib/word").split() == ["precious", "1234:5678"]
    assert plain.get("configmap", "word")["data"] == {"word": "precious"}
    # A pod that had ids of the other kind of node gets some of this one, and its files are its own.
    seen = eventually(lambda: seen_by(plain, "mapped"))
    assert (int(seen["map"][1]) < 1 << 24, seen["data"], seen["empty"]) == (True, ["0:0"], ["5:6"])
    assert not_ready(plain.get("pods", "-n", "kube-system")["items"]) == []
