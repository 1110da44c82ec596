"""What a user keeps in ~/.minikube for the node, a scheduled stop that happens, and the end of a paused cluster: one cluster's life."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support import host
from support.authority import Authority, Server
from support.minikube import Minikube, temporary_place
from support.nodeimage import fresh_name
from support.waiting import eventually

from e2e.conftest import ELSEWHERE

OURS = "10.9.9.9 registry.of.mine"


@pytest.fixture(scope="module")
def first_authority() -> Authority:
    return Authority("first")


@pytest.fixture(scope="module")
def own(node_image: Path, first_authority: Authority) -> Iterator[Minikube]:
    """A cluster whose home had files and certificates before it was started."""
    with temporary_place() as place:
        home = place.home
        for path, text, mode in (
            ("files/etc/mine/setting", "set\n", 0o640),
            ("files/opt/mine/tool", "#!/bin/sh\necho works\n", 0o755),
            ("files/etc/hosts", f"{OURS}\n", 0o644),
            ("files/tmp/passing", "by\n", 0o600),
            ("files/usr/local/bin/never", "", 0o755),
            ("addons/deep/mine.yaml", "kind: List\n", 0o644),
            ("certs/nonsense.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0o644),
        ):
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(text)
            (home / path).chmod(mode)
        (home / "certs/first.crt").write_bytes(first_authority.pem)
        place.kubeconfig.write_text(ELSEWHERE)
        yield Minikube(place, f"{fresh_name()}.Own")  # a name that Kubernetes knows in lower case only


@pytest.fixture(scope="module")
def started(own: Minikube) -> tuple[str, str]:
    answer = own.run("start", "--embed-certs", "--keep-context", "--host-access=all", timeout=300)
    assert answer.code == 0, answer
    return answer.stdout, answer.stderr


@pytest.fixture(scope="module")
def server(
    own: Minikube, started: tuple[str, str], first_authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    gateway = own.ok("ip").strip().rpartition(".")[0] + ".1"
    with first_authority.server(tmp_path_factory.mktemp("server"), gateway, "host.minikube.internal") as running:
        yield running


def pull(minikube: Minikube, port: int) -> str:
    """Why containerd does not get an image from a registry that has none."""
    answer = minikube.run("ssh", "--", f"crictl pull host.minikube.internal:{port}/some/image:1")
    assert answer.code != 0
    return answer.stderr


def test_files_are_in_their_places_with_their_modes(own: Minikube, started: tuple[str, str]) -> None:
    found = own.ssh(
        "stat -c '%a %n' /etc/mine/setting /opt/mine/tool /tmp/passing /etc/kubernetes/addons/mine.yaml; /opt/mine/tool; hostname"
    )
    assert found.splitlines() == [
        "640 /etc/mine/setting", "755 /opt/mine/tool", "600 /tmp/passing", "644 /etc/kubernetes/addons/mine.yaml",
        "works", own.profile.lower(),
    ]  # fmt: skip


def test_what_cannot_be_there_is_said(own: Minikube, started: tuple[str, str]) -> None:
    assert "/usr/local/bin/never cannot be written in the node" in started[1]
    assert "Read-only file system" in started[1]
    assert "certs/nonsense.pem is not trusted in the node" in started[1]


def test_the_node_and_its_containerd_trust_the_users_authority(own: Minikube, server: Server) -> None:
    assert own.ssh(f"curl -sS -o /dev/null -w '%{{http_code}}' https://host.minikube.internal:{server.port}/from-curl") == "404"
    assert "not found" in pull(own, server.port)
    assert "/from-curl" in server.paths
    assert any(path.startswith("/v2/some/image/") for path in server.paths), server.paths


def test_certificates_are_where_upstream_puts_them(own: Minikube, started: tuple[str, str], first_authority: Authority) -> None:
    digest = own.ssh("openssl x509 -noout -subject_hash -in /etc/ssl/certs/first.pem").strip()
    for path in ("/etc/ssl/certs/first.pem", "/usr/share/ca-certificates/first.pem", f"/etc/ssl/certs/{digest}.0"):
        assert own.ssh(f"cat {path}").encode().strip() == first_authority.pem.strip()


def test_systemctl_answers_for_the_services_of_a_node(own: Minikube, started: tuple[str, str]) -> None:
    assert own.ssh("sudo systemctl is-active kubelet containerd").split() == ["active", "active"]
    docker = own.run("ssh", "--", "sudo systemctl is-active docker")
    assert (docker.code, docker.stdout) == (3, "inactive\n")
    other = own.run("ssh", "--", "sudo systemctl daemon-reload")
    assert other.code == 1
    assert "this node has no systemd" in other.stderr


def test_sync_brings_the_rest_without_a_restart(own: Minikube, server: Server, tmp_path: Path) -> None:
    second = Authority("second")
    with second.server(tmp_path, own.ok("ip").strip().rpartition(".")[0] + ".1", "host.minikube.internal") as other:
        assert "x509" in pull(own, other.port)
        began = own.ssh("cut -d' ' -f22 /proc/1/stat")
        (own.place.home / "certs/second.pem").write_bytes(second.pem)
        (own.place.home / "files/etc/mine/setting").write_text("changed\n")
        done = own.run("sync")
        assert done.code == 0, done
        assert f'* Synced 5 files to node "{own.profile}"' in done.stdout.splitlines()
        assert own.ssh("cat /etc/mine/setting") == "changed\n"
        assert "not found" in pull(own, other.port)
    assert "not found" in pull(own, server.port)
    assert own.ssh("cut -d' ' -f22 /proc/1/stat") == began
    eventually(lambda: own.run("status").code == 0)
    # What is no longer there is no longer trusted.
    (own.place.home / "certs/first.crt").unlink()
    own.ok("sync")
    assert "x509" in pull(own, server.port)
    assert "first.pem" not in own.ssh("ls -l /etc/ssl/certs /usr/share/ca-certificates/")


def test_embedded_certificates_need_no_file(own: Minikube, started: tuple[str, str], tmp_path: Path) -> None:
    config = yaml.safe_load(own.place.kubeconfig.read_text())
    (cluster,) = (entry["cluster"] for entry in config["clusters"] if entry["name"] == own.profile)
    (user,) = (entry["user"] for entry in config["users"] if entry["name"] == own.profile)
    assert "certificate-authority-data" in cluster
    assert user.keys() == {"client-certificate-data", "client-key-data"}
    own.kubectl("get", "--raw", "/readyz")


def test_the_current_context_is_kept(own: Minikube, started: tuple[str, str]) -> None:
    assert yaml.safe_load(own.place.kubeconfig.read_text())["current-context"] == "elsewhere"
    assert f"--context={own.profile}" in started[0]


def test_a_scheduled_stop_happens_and_hosts_survive_it(own: Minikube, started: tuple[str, str]) -> None:
    own.ok("cp", str(own.place.kubeconfig), "/etc/mine/copied")
    (own.place.home / "files/etc/hosts").unlink()
    own.ssh("echo '10.8.8.8 second.of.mine # by hand' >> /etc/hosts")
    own.ok("pause")  # a paused cluster is stopped like any other
    own.ok("stop", "--schedule=1s")
    eventually(lambda: own.run("status", "--format={{.Host}}").stdout == "Stopped", seconds=60)
    log = own.place.home / "logs/scheduledStop.txt"
    assert "1 node stopped." in eventually(lambda: "stopped." in log.read_text() and log.read_text())
    assert not (own.place.home / "profiles" / own.profile / "pid").exists()
    assert own.run("pause").code == 83
    assert own.run("cp", "/etc/hosts", "/x").code == 83
    assert own.run("sync").code == 83
    assert "is disabled" in own.ok("addons", "disable", "storage-provisioner")

    own.start()
    address = own.ok("ip").strip()
    lines = own.ssh("cat /etc/hosts").splitlines()
    assert {OURS, "10.8.8.8 second.of.mine # by hand"} <= set(lines)
    names = own.ssh("getent hosts registry.of.mine host.minikube.internal control-plane.minikube.internal").split()
    assert names[::2] == ["10.9.9.9", address.rpartition(".")[0] + ".1", address]
    assert own.ssh("test -s /etc/mine/copied && cat /tmp/passing") == "by\n"


def test_an_addon_that_was_disabled_while_stopped_is_gone_until_it_is_enabled(own: Minikube, started: tuple[str, str]) -> None:
    provisioner = ("get", "deployment", "storage-provisioner", "-n", "kube-system", "--ignore-not-found", "-o", "name")
    assert own.kubectl(*provisioner) == ""
    assert json.loads(own.ok("addons", "list", "-o", "json"))["storage-provisioner"]["Status"] == "disabled"
    assert "is enabled" in own.ok("addons", "enable", "storage-provisioner")
    assert own.kubectl(*provisioner) == "deployment.apps/storage-provisioner\n"
    own.ok("addons", "disable", "default-storageclass")
    assert "No resources found" in own.run("kubectl", "--", "get", "storageclass").stderr


def test_nothing_is_left_of_a_paused_cluster_with_a_stop_before_it(own: Minikube, started: tuple[str, str], node_image: Path) -> None:
    own.ok("pause", "-A")
    own.ok("stop", "--schedule=1h")
    own.ok("delete")
    eventually(lambda: host.nothing(host.traces(own, node_image)), seconds=10)
    assert not own.machine.exists()
    assert not (own.place.home / "profiles" / own.profile).exists()
