"""A cluster on a second machine, reached over SSH by a user who has sudo there; and what happens when the machine cannot be used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.minikube import CLONE, Answer, Minikube, Place, temporary_place
from support.secondmachine import SecondMachine, second_machine
from support.waiting import eventually

from minikube.artifacts.imagearchive import opened
from minikube.artifacts.oci import Entry, Image, write_archive

STORE = "/var/cache/minikube"


@pytest.fixture(scope="module")
def machine(node_image: Path) -> Iterator[SecondMachine]:
    with second_machine() as made:
        made.pristine = made.snapshot()
        yield made


@pytest.fixture(scope="module")
def elsewhere(machine: SecondMachine) -> Iterator[Place]:
    """A home of its own: its clusters are gone before their machine is."""
    with temporary_place() as place:
        yield place


@pytest.fixture(scope="module")
def before(machine: SecondMachine) -> dict[str, list[str]]:
    return machine.pristine


@pytest.fixture(scope="module")
def cluster(machine: SecondMachine, elsewhere: Place, before: dict[str, list[str]]) -> Minikube:
    started = Minikube(elsewhere, "far")
    started.start(*flags(machine, user=machine.sudo_user))
    return started


def flags(machine: SecondMachine, *, user: str = "root", key: Path | None = None, address: str = "") -> list[str]:
    return ["--driver=ssh", f"--ssh-ip-address={address or machine.address}", f"--ssh-user={user}", f"--ssh-key={key or machine.key}"]


def without_store(snapshot: dict[str, list[str]]) -> dict[str, list[str]]:
    return snapshot | {"files": [path for path in snapshot["files"] if not path.startswith(STORE)]}


def left_behind(machine: SecondMachine, before: dict[str, list[str]]) -> dict[str, set[str]]:
    """What differs from before, by kind; what is only just ending has some seconds for it."""
    for _ in range(20):
        after = without_store(machine.snapshot())
        found = {kind: {*after[kind]} ^ {*before[kind]} for kind in before if after[kind] != before[kind]}
        if not found:
            break
        time.sleep(1)
    return found


def ssh_processes(place: Place) -> list[str]:
    """Connections that belong to this home."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().strip() == "ssh" and (process / "cwd").readlink().is_relative_to(place.home):
                found.append(process.name)
        except OSError:
            continue
    return found


def test_its_pods_are_ready_and_on_that_machine(cluster: Minikube, machine: SecondMachine) -> None:
    pods = cluster.get("pods", "-A")["items"]
    assert len(pods) >= 7
    for pod in pods:
        assert all(status["ready"] for status in pod["status"]["containerStatuses"]), pod["metadata"]["name"]
    assert "kube-apiserver" in machine.run("ps", "-e", "-o", "args=")
    assert cluster.run("status").code == 0
    assert json.loads(cluster.ok("status", "-o", "json"))["Kubeconfig"] == "Configured"


def test_the_api_server_is_on_loopback_here_and_nowhere_else(cluster: Minikube, machine: SecondMachine) -> None:
    server = cluster.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    port = int(server.removeprefix("https://127.0.0.1:"))
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert [address for address in listening if int(address.rpartition(":")[2], 16) == port] == [f"0100007F:{port:04X}"]
    there = [line.split()[1] for line in machine.run("cat", "/proc/net/tcp").splitlines()[1:] if line.split()[3] == "0A"]
    assert [int(address.rpartition(":")[2], 16) for address in there] == [22]


def test_one_connection_serves_every_command(cluster: Minikube, machine: SecondMachine) -> None:
    def logins() -> int:
        return machine.run("ps", "-e", "-o", "args=").count(f"sshd: {machine.sudo_user} [priv]")

    assert logins() == 1
    cluster.ok("ip")
    assert cluster.ok("ssh-key").strip() == str(machine.key)
    assert cluster.ok("ssh-host").startswith(f"{machine.address} ssh-ed25519 ")
    assert cluster.ssh("hostname") == "far\n"
    assert cluster.run("ssh", "--", "cat; exit 3", input="to the other side").code == 3
    assert cluster.ssh("cat", input="x" * 2_000_000) == "x" * 2_000_000
    assert "==> kubelet <==" in cluster.ok("logs")
    assert logins() == 1


def test_images_go_there_and_back_layer_by_layer(cluster: Minikube, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(os.urandom(1 << 20) * 4)
    base = (Entry("large", source=tmp_path / "large"),)
    for tag, word in (("1", b"first"), ("2", b"second")):
        write_archive(tmp_path / f"{tag}.tar", [Image(f"docker.io/library/far-app:{tag}", (base, (Entry("word", content=word),)))])
    assert "(4.2 of 4.2 MB moved)" in cluster.ok("image", "load", str(tmp_path / "1.tar"))
    assert "(0.0 of 4.2 MB moved)" in cluster.ok("image", "load", str(tmp_path / "2.tar"))
    cluster.ok("image", "save", "far-app:2", str(tmp_path / "back.tar"))
    with opened(tmp_path / "back.tar") as (image,), opened(tmp_path / "2.tar") as (sent,):
        assert image.id == sent.id
    cluster.ok("image", "rm", "far-app:1", "far-app:2")


def test_a_lost_connection_comes_back_with_the_next_command(cluster: Minikube, elsewhere: Place) -> None:
    server = cluster.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    for process in ssh_processes(elsewhere):
        os.kill(int(process), signal.SIGKILL)
    eventually(lambda: not ssh_processes(elsewhere))
    assert cluster.get("nodes")["items"][0]["metadata"]["name"] == "far"
    assert cluster.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}") == server


def test_stop_leaves_the_machine_clean_and_start_copies_nothing(
    cluster: Minikube, machine: SecondMachine, elsewhere: Place, before: dict[str, list[str]]
) -> None:
    cluster.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    cluster.ok("stop")
    eventually(lambda: machine.snapshot()["processes"] == before["processes"])  # an agent ends a moment after its connection
    after = without_store(machine.snapshot())
    assert after | {"files": []} == before | {"files": []}
    assert {path for path in after["files"] if not path.startswith("/var/lib/minikube-nodes")} == set(before["files"])
    assert ssh_processes(elsewhere) == []
    assert "Stopped" in cluster.run("status").stdout
    assert ssh_processes(elsewhere) == []
    started = cluster.start("--ssh-user=root")  # how to log in may change
    assert "copying" not in started
    assert cluster.get("configmap", "kept")["data"] == {"a": "b"}


def test_a_changed_host_key_is_refused_and_nothing_is_lost(cluster: Minikube, machine: SecondMachine, elsewhere: Place) -> None:
    key, public = (machine.root / "etc/ssh/ssh_host_ed25519_key", machine.root / "etc/ssh/ssh_host_ed25519_key.pub")
    old = key.read_bytes(), public.read_bytes()
    for process in ssh_processes(elsewhere):
        os.kill(int(process), signal.SIGKILL)
    machine.new_host_key()
    try:
        for words in (["status"], ["start"], ["ssh", "--", "true"]):
            refused = eventually(lambda words=words: _with_code(cluster.run(*words), 70))
            assert "another host key" in refused.stderr
            assert f"rm '{cluster.machine}/known_hosts'" in refused.stderr
    finally:
        key.write_bytes(old[0])
        public.write_bytes(old[1])
        machine.reload()
    assert eventually(lambda: _with_code(cluster.run("status"), 0)).stdout.count("Running") == 3


def test_a_machine_that_vanishes_says_so_and_comes_back_stopped(cluster: Minikube, machine: SecondMachine) -> None:
    machine.stop()
    refused = cluster.run("status")
    assert (refused.code, f"The machine {machine.address} cannot be reached" in refused.stderr) == (70, True), refused
    kept = cluster.run("delete")
    assert (kept.code, f"rm -r '{cluster.machine}'" in kept.stderr) == (70, True), kept
    machine.start()
    assert "host: Stopped" in cluster.run("status").stdout


def test_delete_leaves_the_machine_clean(cluster: Minikube, machine: SecondMachine, elsewhere: Place, before: dict[str, list[str]]) -> None:
    cluster.ok("delete")
    assert left_behind(machine, before) == {}
    assert ssh_processes(elsewhere) == []
    assert not cluster.machine.exists()


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ({"key": "other"}, 70, "does not let the user root in with the key"),
        ({"user": "nobody-here"}, 70, "does not let the user nobody-here in"),
        ({"user": "guest"}, 57, "may not use sudo without a password"),
        ({"address": "127.0.0.127", "port": "1"}, 70, "cannot be reached on port 1: connection refused"),
        ({"address": "no-such-machine.invalid"}, 14, "does not resolve"),
        ({"key": "missing"}, 14, "does not exist"),
    ],
)
def test_a_machine_that_cannot_be_used_says_why(
    machine: SecondMachine, elsewhere: Place, given: dict[str, str], code: int, says: str
) -> None:
    keys = {"other": machine.other_key, "missing": Path("/nowhere/key")}
    words = flags(machine, user=given.get("user", "root"), key=keys.get(given.get("key", "")), address=given.get("address", ""))
    refused = Minikube(elsewhere, "refused").run("start", *words, f"--ssh-port={given.get('port', '22')}")
    assert (refused.code, says in refused.stderr) == (code, True), refused
    assert ssh_processes(elsewhere) == []
    assert Minikube(elsewhere, "refused").run("delete").code == 0


def test_a_machine_that_forwards_no_ports_is_refused_before_anything_is_copied(machine: SecondMachine, elsewhere: Place) -> None:
    settings = machine.root / "etc/ssh/sshd_config"
    before = settings.read_text()
    settings.write_text(f"AllowTcpForwarding no\n{before}")
    machine.reload()
    refusing = Minikube(elsewhere, "refused")
    try:
        refused = eventually(lambda: _with_code(refusing.run("start", *flags(machine)), 50))
        assert "Exiting due to DRV_PORT_FORWARD: " in refused.stderr
        assert "AllowTcpForwarding yes" in refused.stderr
        assert "copying" not in refused.stdout
        assert not refusing.machine.exists()
    finally:
        settings.write_text(before)
        machine.reload()


def test_the_driver_keeps_the_contract(machine: SecondMachine, tmp_path: Path) -> None:
    """The kit, run as driver authors run it: as root this time."""
    environment = {**os.environ, "PYTHONPATH": str(CLONE / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "minikube.testing.plugin", "-p", "no:cacheprovider", "--pyargs"]
    argv += ["minikube.testing.driver_contract", "--driver=ssh", f"--driver-flag=ssh-ip-address={machine.address}"]
    argv += [f"--driver-flag=ssh-key={machine.key}"]
    done = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


def test_the_kit_has_left_nothing_behind(machine: SecondMachine, before: dict[str, list[str]]) -> None:
    assert left_behind(machine, before) == {}


def _with_code(answer: Answer, code: int) -> Answer | None:
    return answer if answer.code == code else None
