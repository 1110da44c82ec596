"""What a user leaves in a home, for root to act on: root's files, other users' files and the host stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.minikube import Answer
from support.people import Somebody, people

from minikube.host.system import architecture
from minikube.network.tools import NetworkTools

PROFILE = "ghost"
VICTIM = f"victim{os.getpid() % 100000}"  # a bridge and a firewall table of this host that no cluster has made
SETTING = Path(f"/proc/sys/net/ipv4/conf/{VICTIM}/log_martians")


class Host:
    def __init__(self, directory: Path, dev: Somebody) -> None:
        self.dev = dev
        self.roots = directory / "home" / "roots"  # seen by everybody, writable by root
        self.roots_seen = "/home/roots"

    def write(self, path: str, text: str, *, mode: int = 0o644) -> Path:
        """A file of the user's."""
        file = self.dev.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        self._give(file)
        return file

    def link(self, path: str, target: str) -> None:
        link = self.dev.directory / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        self._give(link)

    def _give(self, path: Path) -> None:
        for place in (path, *path.parents):
            if place == self.dev.directory:
                return
            os.chown(place, self.dev.uid, self.dev.uid, follow_symlinks=False)

    def machine(self, **records: object) -> None:
        """As a version whose machines belonged to their users has left it."""
        self.write(f".minikube/machines/{PROFILE}/config.json", json.dumps({"DriverName": "none"}))
        for name, content in records.items():
            self.write(f".minikube/machines/{PROFILE}/{name.replace('_', '-').removesuffix('-json')}.json", json.dumps(content))
        (self.dev.directory / f".minikube/machines/{PROFILE}/runc").mkdir()

    def profile(self) -> None:
        kubernetes = {"KubernetesVersion": "v1.37.1", "ClusterName": PROFILE, "ContainerRuntime": "containerd"}
        config = {"Name": PROFILE, "Driver": "none", "APIServerPort": 8443, "KubernetesConfig": kubernetes, "Nodes": []}
        self.write(f".minikube/profiles/{PROFILE}/config.json", json.dumps(config))

    def run(self, way: str, *words: str, **environment: str) -> Answer:
        """As the user, who is let through sudo; as `sudo minikube`; and as root in the user's home."""
        dev, env = self.dev, self.dev.environment | environment
        argv = {
            "user": dev.argv([*words, "-p", PROFILE]),
            "sudo": [*dev.enter(), "sudo", "-n", *dev.program(), *words, "-p", PROFILE],
            "root": [*dev.enter()[:5], *dev.program(), *words, "-p", PROFILE],
        }[way]
        if way == "root":
            env = {"HOME": "/root", "MINIKUBE_HOME": dev.home_seen, "KUBECONFIG": f"{dev.inside}/.kube/config"} | env | {"HOME": "/root"}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)
        return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def whole(node_image: Path) -> Iterator[Host]:
    with tempfile.TemporaryDirectory(prefix="mk-people-", dir="/var/tmp") as directory, people(Path(directory)) as users:
        yield Host(Path(directory), users["dev"])


@pytest.fixture
def host(whole: Host) -> Iterator[Host]:
    """Files of root's, which nobody else may read, in a place that everybody may enter."""
    whole.roots.mkdir(mode=0o755)
    (whole.roots / "precious").write_text("precious")
    (whole.roots / "precious").chmod(0o600)
    yield whole
    subprocess.run(["rm", "-rf", str(whole.roots), *(str(path) for path in whole.dev.directory.iterdir())], check=True)


@pytest.fixture
def victim(node_image: Path) -> Iterator[Callable[[], tuple[bool, bool, str]]]:
    """A bridge, a firewall table and a setting of somebody else's; the answer is what is left of them."""
    tools = NetworkTools(node_image)
    tools.ip(f"link add {VICTIM} type bridge\n")
    tools.nft(f"add table inet {VICTIM}\n")

    def left() -> tuple[bool, bool, str]:
        tables = subprocess.run(tools.argv("nft", "list", "tables"), capture_output=True, text=True, check=True).stdout
        return Path(f"/sys/class/net/{VICTIM}").exists(), f"table inet {VICTIM}\n" in tables, SETTING.read_text().strip()

    try:
        yield left
    finally:
        tools.ip(f"link del {VICTIM}\n", force=True)
        tools.nft(f"add table inet {VICTIM}\ndelete table inet {VICTIM}\n")


WAYS = pytest.mark.parametrize("way", ["user", "sudo", "root"])


@pytest.mark.parametrize(("way", "command"), [("user", "stop"), ("sudo", "delete"), ("root", "stop")])
def test_root_executes_no_runc_that_a_record_names(host: Host, way: str, command: str) -> None:
    program = host.write("runc", f"#!/bin/sh\nid -u >> {host.dev.inside}/executed\n", mode=0o755)
    host.machine(native={"subnet": "192.168.49.0/24", "runc": f"{host.dev.inside}/runc"}, host_changes=[{"kind": "podmounts"}])
    host.profile()
    host.run(way, command)
    assert program.exists()
    assert not (host.dev.directory / "executed").exists()


@pytest.mark.parametrize(("way", "command"), [("user", "stop"), ("sudo", "delete"), ("root", "stop")])
def test_root_undoes_no_changes_that_the_machine_did_not_make(
    host: Host, victim: Callable[[], tuple[bool, bool, str]], way: str, command: str
) -> None:
    setting = f"net.ipv4.conf.{VICTIM}.log_martians"
    before = victim()
    host.machine(
        native={"subnet": "192.168.49.0/24"},
        host_changes=[
            {"kind": "sysctl", "name": setting, "before": "1", "after": before[2]},
            {"kind": "bridge", "name": VICTIM, "address": "?"},
            {"kind": "firewall", "family": "inet", "name": VICTIM},
        ],
    )
    host.profile()
    host.run(way, command)
    assert victim() == before


@WAYS
def test_a_home_that_leads_to_a_directory_of_roots_is_refused(host: Host, way: str) -> None:
    (host.roots / ".minikube" / "logs").mkdir(parents=True)
    (host.roots / ".minikube" / "logs" / "precious").touch()
    host.link("mine", f"{host.roots_seen}/.minikube")
    host.link("linked/.minikube", f"{host.roots_seen}/.minikube")
    if way != "root":  # root in a home of root's works for itself
        answer = host.run(way, "delete", MINIKUBE_HOME=f"{host.dev.inside}/linked/.minikube")
        assert (answer.code, "HOST_HOME_PERMISSION" in answer.stderr) == (37, True), answer
    assert (host.roots / ".minikube" / "logs" / "precious").stat().st_uid == 0
    assert [path.name for path in (host.roots / ".minikube").iterdir()] == ["logs"]


LINKS = {
    "lock": f".minikube/locks/{PROFILE}.lock",
    "audit": ".minikube/logs/audit.json",
    "profile's file": f".minikube/profiles/{PROFILE}/config.json",
    "kubeconfig": ".kube/config",
    "settings": ".minikube/config/config.json",
    "machine's facts": f".minikube/machines/{PROFILE}/native.json",
    "machine's journal": f".minikube/machines/{PROFILE}/host-changes.json",
    "machine's log": f".minikube/machines/{PROFILE}/node.log",
}


@pytest.mark.parametrize(("way", "command"), [("user", "stop"), ("sudo", "delete"), ("root", "delete")])
@pytest.mark.parametrize("planted", LINKS.values(), ids=LINKS)
def test_a_link_in_the_place_of_a_file_leads_root_to_no_file_of_roots(host: Host, way: str, planted: str, command: str) -> None:
    cluster, user = {"cluster": {"server": "https://192.0.2.1"}, "name": PROFILE}, {"name": PROFILE, "user": {}}
    context = {"context": {"cluster": PROFILE, "user": PROFILE}, "name": PROFILE}
    known = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": PROFILE,
        "contexts": [context],
        "clusters": [cluster],
        "users": [user],
    }
    (host.roots / "precious").write_text(json.dumps(known))
    before = (host.roots / "precious").read_bytes()
    host.machine(native={"subnet": "192.168.49.0/24"}, host_changes=[{"kind": "podmounts"}])
    host.profile()
    (host.dev.directory / planted).unlink(missing_ok=True)
    host.link(planted, f"{host.roots_seen}/precious")
    host.run(way, command)
    about = (host.roots / "precious").stat()
    assert ((host.roots / "precious").read_bytes(), about.st_uid, about.st_mode & 0o777) == (before, 0, 0o600)


@WAYS
@pytest.mark.parametrize(
    "planted", [f".minikube/machines/{PROFILE}", f".minikube/profiles/{PROFILE}", ".minikube/machines", ".minikube/locks"]
)
def test_a_link_in_the_place_of_a_directory_leads_root_to_no_directory_of_roots(host: Host, way: str, planted: str) -> None:
    (host.roots / PROFILE / "state").mkdir(parents=True)
    host.profile()
    subprocess.run(["rm", "-rf", str(host.dev.directory / planted)], check=True)
    host.link(planted, host.roots_seen if planted.endswith(("machines", "locks")) else f"{host.roots_seen}/{PROFILE}")
    host.run(way, "delete")
    assert sorted(path.name for path in host.roots.iterdir()) == [PROFILE, "precious"]
    assert [path.name for path in (host.roots / PROFILE).iterdir()] == ["state"]


def test_a_start_believes_nothing_that_its_user_has_planted(host: Host, victim: Callable[[], tuple[bool, bool, str]]) -> None:
    """All at once, in the machine of an earlier version; the cluster comes up as if it had not been there."""
    before, precious = victim(), (host.roots / "precious").read_text()
    host.write("runc", f"#!/bin/sh\nid -u >> {host.dev.inside}/executed\n", mode=0o755)
    host.write("image/usr/sbin/ip", f"#!/bin/sh\nid -u >> {host.dev.inside}/executed\n", mode=0o755)
    facts = {"runc": f"{host.dev.inside}/runc", "node_image": f"{host.dev.inside}/image", "prepared_store": "/etc", "subnet": "0.0.0.0/0"}
    changes = [
        {"kind": "bridge", "name": VICTIM, "address": "?"},
        {"kind": "firewall", "family": "inet", "name": VICTIM},
        {"kind": "podmounts"},
    ]
    host.machine(native=facts, host_changes=changes)
    for name in ("node.log", "run"):
        host.link(f".minikube/machines/{PROFILE}/{name}", f"{host.roots_seen}/precious")
    for name in ("logs/lastStart.txt", f"cache/linux/{architecture()}/v1.37.1/kubectl"):
        host.link(f".minikube/{name}", f"{host.roots_seen}/precious")
    try:
        answer = host.run("user", "start")
        assert answer.code == 0, answer
        assert victim() == before
        assert not (host.dev.directory / "executed").exists()
        assert (host.roots / "precious").read_text() == precious
        for name in ("client.crt", "client.key", "config.json"):
            file = host.dev.home / "profiles" / PROFILE / name
            file.unlink()
            file.symlink_to(f"{host.roots_seen}/precious")
            host.run("user", "start")  # refused, or done without that file
            file.unlink()
        assert (host.roots / "precious").read_text() == precious
    finally:
        assert host.run("user", "delete").code == 0


SWAP = """
import os, sys
machine, other = sys.argv[1:]
print("swapping", flush=True)
while True:
    try:
        os.rename(machine, machine + ".away"); os.symlink(other, machine); os.unlink(machine); os.rename(machine + ".away", machine)
    except OSError:
        pass
"""


@pytest.mark.parametrize("name", ["machines", f"machines/{PROFILE}", "locks", "logs", f"profiles/{PROFILE}"])
def test_directories_that_are_swapped_for_links_meanwhile_lead_root_nowhere(host: Host, name: str) -> None:
    (host.roots / PROFILE / "state").mkdir(parents=True)
    for _ in range(3):
        host.machine(native={"subnet": "192.168.49.0/24"}, host_changes=[{"kind": "podmounts"}])
        host.profile()
        for missing in ("locks", "logs"):
            host.write(f".minikube/{missing}/.there", "")
        target = f"{host.roots_seen}/{PROFILE}" if PROFILE in name else host.roots_seen
        argv = [*host.dev.enter(), host.dev.program()[0], "-c", SWAP, f"{host.dev.home_seen}/{name}", target]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as swapper:
            assert swapper.stdout
            assert swapper.stdout.readline() == "swapping\n"
            try:
                host.run("user", "delete")
            finally:
                swapper.kill()
        assert sorted(path.name for path in host.roots.iterdir()) == [PROFILE, "precious"]
        assert [path.name for path in (host.roots / PROFILE).iterdir()] == ["state"]
        subprocess.run(["rm", "-rf", *(str(path) for path in host.dev.directory.iterdir())], check=True)
