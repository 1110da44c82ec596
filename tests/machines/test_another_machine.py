"""The life of a cluster on an ordinary machine: systemd, control groups of version 2, a kernel whose modules are loaded when needed.

Each test goes on where the one before it ended: an emulated machine needs minutes for what takes seconds elsewhere.
"""

from __future__ import annotations

import json
import re

import pytest
from support import manifests
from support.machinedisks import CARGO
from support.minikube import Minikube
from support.virtualmachine import Account, VirtualMachine
from support.waiting import eventually

SLOWLY = "--wait-timeout=25m"
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def cluster(machine: VirtualMachine) -> Minikube:
    """Of a user who may use sudo."""
    if not machine.process:
        machine.boot()
    return Minikube(Account(machine, "dev"), "minikube")


def traces(machine: VirtualMachine) -> dict[str, str]:
    """Everything a cluster makes on a host, by kind."""
    nft = "for image in /home/*/.cache/minikube/entries/node-image-*/content; do chroot $image /usr/sbin/nft list tables; done"
    return {
        "units": machine.say("systemctl list-units --all --plain --no-legend 'minikube*' 2>/dev/null || true"),
        "groups": machine.say("find /sys/fs/cgroup -name '*minikube*'"),
        "links": machine.say("ls /sys/class/net"),
        "tables": machine.say(nft),
        "mounts": machine.say("grep -c . /proc/self/mounts"),
        "processes": machine.say("ps -eo args | grep -E '[s]upervisor.py|[k]ubelet|[c]ontainerd|[e]tcd|[d]nsrelay' || true"),
        "forwarding": machine.say("cat /proc/sys/net/ipv4/ip_forward"),
    }


def fence(machine: VirtualMachine, cluster: Minikube, file: str) -> str:
    """A limit of the node, as the machine's kernel has it."""
    return machine.say(f"cat /sys/fs/cgroup/system.slice/minikube-{cluster.host_id}.scope/fence/{file}")


def start(cluster: Minikube, *flags: str) -> str:
    return cluster.ok("start", SLOWLY, *flags)


def works(cluster: Minikube) -> None:
    """Every pod is ready, names resolve, and a pod reaches a service whose pod is on the same node, or is itself."""
    cluster.kubectl("wait", "--for=condition=Ready", "pods", "--all", "-A", "--timeout=10m")
    fetch = ("exec", "deployment/web", "--", "wget", "-T", "20", "-qO-", "http://web.default.svc.cluster.local")
    assert eventually(lambda: cluster.kubectl(*fetch), seconds=300).startswith("web-")


def test_a_user_without_sudo_is_told_so(cluster: Minikube, machine: VirtualMachine) -> None:
    refused = Minikube(Account(machine, "guest"), "minikube").run("start", f"--bundle={CARGO}/bundle.tar")
    assert (refused.code, "DRV_NEEDS_ROOT" in refused.stderr, "Traceback" in refused.stderr) == (57, True, False), refused


def test_a_cluster_from_a_bundle(cluster: Minikube, machine: VirtualMachine) -> None:
    start(cluster, f"--bundle={CARGO}/bundle.tar")
    cluster.ok("image", "load", f"{CARGO}/test-images.tar")
    cluster.apply(*manifests.web("web"))
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=10m")
    cluster.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    works(cluster)
    shown = machine.say(f"systemctl status --full --lines=0 minikube-{cluster.host_id}.scope")
    for program in ("supervisor.py", "kubelet", "etcd"):
        assert program in shown
    assert machine.say("systemctl --failed --no-legend") == ""


def test_limits_hold_and_change_while_it_runs(cluster: Minikube, machine: VirtualMachine) -> None:
    start(cluster, "--memory=2000mb", "--cpus=2", "--force")
    assert int(fence(machine, cluster, "memory.max")) == 2000 * MEGABYTE
    # As many CPUs as the machine has are no limit; fewer would make an emulated machine too slow for its own health checks.
    assert (fence(machine, cluster, "memory.swap.max"), fence(machine, cluster, "cpu.max")) == ("0", "max 100000")
    assert 1000 < int(fence(machine, cluster, "pids.max")) < 1_000_000
    offered = cluster.get("node", "minikube")["status"]["allocatable"]["memory"]
    assert abs(int(offered.removesuffix("Ki")) * 1024 - 2000 * MEGABYTE) <= 2 * MEGABYTE


def test_a_memory_hog_dies_of_the_nodes_limit(cluster: Minikube, machine: VirtualMachine) -> None:
    machine.say("fallocate -l 1G /swap && chmod 600 /swap && mkswap /swap && swapon /swap")
    cluster.apply(manifests.pod("hog", "dd if=/dev/zero of=/dev/null bs=3000M count=1", restart="Never"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/hog", "--timeout=10m")
    machine.say("swapoff /swap && rm /swap")
    ended = cluster.get("pod", "hog")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 137
    cluster.kubectl("delete", "pod", "hog")
    assert cluster.kubectl("get", "--raw", "/livez") == "ok"


def test_a_fork_bomb_stays_in_its_pod(cluster: Minikube, machine: VirtualMachine) -> None:
    group = f"/sys/fs/cgroup/system.slice/minikube-{cluster.host_id}.scope/fence"
    cluster.apply(manifests.pod("bomb", "bomb() { bomb | bomb & }; bomb; sleep 3600"))
    eventually(lambda: machine.say(f"find {group} -name pids.events | xargs cat | grep -v ' 0$' || true"), seconds=900, every=5)
    cluster.kubectl("delete", "pod/bomb", "--grace-period=0", "--force")
    eventually(lambda: int(machine.say(f"cat {group}/pids.current")) < 2000, seconds=900, every=5)


def test_pause_and_go_on(cluster: Minikube) -> None:
    cluster.ok("pause")
    assert "apiserver: Paused" in cluster.run("status").stdout
    cluster.ok("unpause")
    assert eventually(lambda: cluster.kubectl("get", "--raw", "/livez"), seconds=300) == "ok"


def test_stop_leaves_no_trace_and_start_brings_it_back(cluster: Minikube, machine: VirtualMachine) -> None:
    cluster.ok("stop")
    assert not {kind: found for kind, found in traces(machine).items() if re.search(r"minikube|mk-|kubelet", found)}
    start(cluster)
    works(cluster)
    assert cluster.get("configmap", "kept")["data"] == {"a": "b"}


def test_the_plug_is_pulled(cluster: Minikube, machine: VirtualMachine) -> None:
    cluster.kubectl("create", "configmap", "written-last", "--from-literal=a=b")
    machine.pull_the_plug()
    machine.boot()
    assert "host: Stopped" in cluster.run("status").stdout
    start(cluster)
    works(cluster)
    assert cluster.get("configmap", "written-last")["data"] == {"a": "b"}


def test_an_orderly_reboot_then_pods_in_user_namespaces_of_their_own(cluster: Minikube, machine: VirtualMachine) -> None:
    machine.run("systemctl reboot", check=False)
    machine.wait_until_off()
    machine.boot()
    start(cluster, "--user-namespace=false")
    works(cluster)
    own = manifests.pod("own", "cat /proc/self/uid_map; sleep 3600")
    # Before Linux 6.3, a file system in memory (tokens are on one) cannot be mounted into a user namespace of a pod's own.
    own["spec"] |= {"hostUsers": False, "automountServiceAccountToken": False}
    cluster.apply(own)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/own", "--timeout=10m")
    assert int(cluster.kubectl("logs", "own").split()[1]) > 0


def test_delete_leaves_nothing(cluster: Minikube, machine: VirtualMachine) -> None:
    cluster.ok("delete")
    left = traces(machine)
    assert not {kind: found for kind, found in left.items() if re.search(r"minikube|mk-|kubelet", found)}
    assert left["forwarding"] == "0"
    assert machine.say("systemctl is-system-running") == "running"


def test_without_systemd(cluster: Minikube, machine: VirtualMachine) -> None:
    machine.run("systemctl poweroff", check=False)
    machine.wait_until_off()
    machine.boot(parameters="init=/sbin/plain-init")
    before = traces(machine)
    start(cluster)
    cluster.kubectl("wait", "--for=condition=Ready", "pods", "--all", "-A", "--timeout=10m")
    assert "fence" in machine.say(f"ls /sys/fs/cgroup/minikube/{cluster.host_id}")
    config = json.loads(machine.say("cat /home/dev/.minikube/profiles/minikube/config.json"))
    assert int(machine.say(f"cat /sys/fs/cgroup/minikube/{cluster.host_id}/fence/memory.max")) == config["Memory"] * MEGABYTE
    cluster.ok("delete")
    assert traces(machine) == before
