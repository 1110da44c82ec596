"""A docker daemon on the same host: its container lives on, its rules stay, and so does what it needs of the kernel."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.dockerd import Docker, docker_daemon
from support.minikube import Minikube
from support.nodeimage import fresh_name
from support.world import world

from minikube.network.tools import NetworkTools

FORWARDING = "/proc/sys/net/ipv4/ip_forward"
FAR = "198.51.100.2"  # another machine, at the end of a cable


class Neighbours(NamedTuple):
    """docker with a running container, seen before, while and after there was a cluster; and the cluster, while it is there."""

    docker: Docker
    cluster: Minikube
    before: tuple[object, str]

    def look(self) -> tuple[object, str]:
        return self.docker.life("keeper"), self.docker.rules()


@pytest.fixture(scope="module")
def neighbours(node_image: Path) -> Iterator[Neighbours]:
    with tempfile.TemporaryDirectory(prefix="mk-world-", dir="/var/tmp") as name, world(Path(name), node_image) as host:
        directory = Path(name)
        # docker drops what others forward if it is the one to turn forwarding on.
        subprocess.run([*host.enter(), "sh", "-c", f"echo 0 > {FORWARDING}"], check=True)
        with docker_daemon(host, directory / "docker", busybox=node_image / "usr/bin/busybox") as docker:
            docker.do("docker", "run", "-d", "--name", "keeper", "busybox", "sleep", "1000000")
            try:
                made = Neighbours(docker, Minikube(host, fresh_name()), (docker.life("keeper"), docker.rules()))
                made.cluster.start()
                yield made
            finally:
                answer = host.run("delete", "--all", "--purge", timeout=180)
                docker.do("docker", "rm", "-f", "keeper")
                assert answer.code == 0, answer


@pytest.fixture(scope="module")
def far(neighbours: Neighbours) -> Iterator[str]:
    """A machine outside, which answers pings."""
    host = neighbours.docker.host
    with subprocess.Popen(["unshare", "--net", "sleep", "3600"]) as machine:
        try:
            here = Path(f"/proc/{host.keeper}/ns/net").readlink()
            while Path(f"/proc/{machine.pid}/ns/net").readlink() in (here, Path("/proc/self/ns/net").readlink()):
                pass
            cable = f"link add lan0 type veth peer name eth0 netns {machine.pid}\naddr add 198.51.100.1/24 dev lan0\nlink set lan0 up\n"
            tools = NetworkTools(host.image)
            subprocess.run([*host.enter(), *tools.argv("ip", "-batch", "-")], input=cable.encode(), check=True)
            enter = ["nsenter", f"--net=/proc/{machine.pid}/ns/net", "ip"]
            for words in (f"addr add {FAR}/24 dev eth0", "link set eth0 up"):
                subprocess.run([*enter, *words.split()], check=True)
            yield FAR
        finally:
            machine.kill()


def reaches(cluster: Minikube, address: str) -> bool:
    return "1 packets received" in cluster.ssh(f"busybox ping -c 1 -W 3 {address} || true")


def test_docker_drops_what_others_forward(neighbours: Neighbours) -> None:
    """Otherwise the next tests would say little: docker is as it is on most machines."""
    assert ":FORWARD DROP" in neighbours.before[1]
    assert "MASQUERADE" in neighbours.before[1]
    assert neighbours.before[0][0] == "running"  # type: ignore[index]


def test_docker_is_as_it_was_while_a_cluster_runs(neighbours: Neighbours) -> None:
    assert neighbours.look() == neighbours.before
    assert neighbours.docker.do("docker", "exec", "keeper", "sh", "-c", "echo well") == "well\n"


def test_docker_sees_nothing_of_a_cluster_and_a_cluster_nothing_of_docker(neighbours: Neighbours) -> None:
    assert neighbours.docker.do("docker", "ps", "-q").count("\n") == 1
    assert "keeper" not in neighbours.cluster.ssh("ctr -n moby containers ls; ps -e -o args")


@pytest.mark.parametrize("with_program", [True, False])
def test_images_of_docker_go_into_a_cluster_and_back(neighbours: Neighbours, with_program: bool) -> None:
    """By docker's own program, or where that is not installed, by its socket."""
    docker, host = neighbours.docker, neighbours.cluster.place
    programs = docker.environment["PATH"] if with_program else "/usr/sbin:/usr/bin:/sbin:/bin"
    kept = dict(host.environment)
    host.environment |= {"DOCKER_HOST": docker.environment["DOCKER_HOST"], "PATH": programs}
    name = f"docker.io/library/busybox:{'program' if with_program else 'socket'}"
    try:
        assert "Loaded docker.io/library/busybox:latest" in neighbours.cluster.ok("image", "load", "busybox")
        neighbours.cluster.ok("image", "tag", "busybox", name)
        neighbours.cluster.ok("image", "save", "--daemon", name)
        assert name.rpartition(":")[2] in docker.do("docker", "images", "busybox", "--format", "{{.Tag}}").split()
        missing = neighbours.cluster.run("image", "load", "--daemon", "nosuch:1")
        assert (missing.code, "nosuch" in missing.stderr.lower()) == (80, True), missing
    finally:
        neighbours.cluster.run("image", "rm", "busybox", name)
        host.environment.clear()
        host.environment |= kept
        docker.do("docker", "rmi", name)


def test_what_docker_drops_is_said_with_what_helps(neighbours: Neighbours, far: str) -> None:
    """No rule of ours can undo a drop of another table, and docker's table is not ours to write in: the user is told, and decides."""
    assert not reaches(neighbours.cluster, far)
    found = neighbours.cluster.run("doctor").stdout
    assert "drops what is forwarded (docker's does)" in found
    advice = [line.partition("Run: ")[2] for line in found.splitlines() if "DOCKER-USER" in line]
    assert len(advice) == 1
    for command in advice[0].replace('"', "").replace("sudo ", "").split("; "):
        neighbours.docker.do(*command.split())
    assert reaches(neighbours.cluster, far)
    for command in advice[0].replace('"', "").replace("sudo ", "").replace("-I", "-D").split("; "):
        neighbours.docker.do(*command.split())


def test_docker_is_as_it_was_when_a_cluster_is_gone(neighbours: Neighbours) -> None:
    neighbours.cluster.ok("stop")
    assert neighbours.look() == neighbours.before
    neighbours.cluster.ok("delete")
    assert neighbours.look() == neighbours.before
    assert neighbours.docker.host.read(FORWARDING) == "1"
