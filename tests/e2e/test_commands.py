"""The everyday commands, as scripts use them: output, JSON, exit codes."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
import yaml
from support.minikube import Place, read_until
from support.terminal import Terminal

from e2e.conftest import ELSEWHERE, Cluster, Restart
from e2e.pair import Pair


def test_status_as_text(cluster: Cluster) -> None:
    lines = cluster.ok("status").splitlines()
    assert lines[:6] == [
        cluster.profile, "type: Control Plane", "host: Running", "kubelet: Running", "apiserver: Running", "kubeconfig: Configured",
    ]  # fmt: skip


def test_status_as_json(cluster: Cluster) -> None:
    running = {"Host": "Running", "Kubelet": "Running", "APIServer": "Running"}
    expected = {"Name": cluster.profile, **running, "Kubeconfig": "Configured", "Worker": False}
    assert json.loads(cluster.ok("status", "-o", "json")) == expected


def test_status_through_a_template(cluster: Cluster) -> None:
    assert cluster.ok("status", "--format", "{{.Host}}/{{.APIServer}}") == "Running/Running"


def test_status_of_the_whole_cluster(cluster: Cluster) -> None:
    state = json.loads(cluster.ok("status", "-o", "json", "--layout=cluster"))
    assert (state["Name"], state["StatusCode"], state["StatusName"]) == (cluster.profile, 200, "OK")
    assert state["Components"]["kubeconfig"]["StatusCode"] == 200
    (node,) = state["Nodes"]
    assert {name: part["StatusCode"] for name, part in node["Components"].items()} == {"apiserver": 200, "kubelet": 200}


def test_status_of_a_stopped_cluster(cluster: Cluster, restart: Restart) -> None:
    assert restart.status.code == 7, restart.status  # bits: host, kubelet and API server, kubeconfig
    assert restart.status.stdout.splitlines()[2:5] == ["host: Stopped", "kubelet: Stopped", "apiserver: Stopped"]
    assert restart.status_json.code == 7
    assert restart.status_json.json()["Host"] == "Stopped"
    state = restart.status_layout.json()
    assert (state["StatusCode"], state["StatusName"], state["Nodes"][0]["StatusName"]) == (405, "Stopped", "Stopped")


def test_a_stopped_cluster_is_listed_and_cannot_be_entered(cluster: Cluster, restart: Restart) -> None:
    assert [row["Status"] for row in restart.profiles.json()["valid"] if row["Name"] == cluster.profile] == ["Stopped"]
    for answer in (restart.ssh, restart.ip, restart.kubectl):
        assert (answer.code, "host is not running: state=Stopped" in answer.stdout) == (83, True), answer


@pytest.mark.parametrize("command", [("status",), ("stop",), ("ip",), ("ssh", "true"), ("kubectl", "--", "get", "pods"), ("logs",)])
def test_an_unknown_profile_is_said_to_be_unknown(place: Place, command: tuple[str, ...]) -> None:
    answer = place.run(command[0], "-p", "nowhere", *command[1:])
    assert answer.code == 85
    assert 'Profile "nowhere" not found' in answer.stdout
    assert "minikube start -p nowhere" in answer.stdout


def test_ip_is_the_nodes_address(cluster: Cluster) -> None:
    addresses = {address["type"]: address["address"] for address in cluster.get("node", cluster.profile)["status"]["addresses"]}
    assert cluster.ok("ip") == addresses["InternalIP"] + "\n"


def test_ssh_runs_one_command(cluster: Cluster) -> None:
    assert cluster.ok("ssh", "--", "echo 'one  two' | wc -w").strip() == "2"
    answer = cluster.run("ssh", "--", "echo out; echo err >&2; exit 7")
    assert answer == (7, "out\n", "err\n")


def test_ssh_passes_input_and_output_unchanged(cluster: Cluster) -> None:
    data = "".join(chr(32 + number % 90) for number in range(3_000_000))
    assert cluster.ok("ssh", "--", "cat", input=data) == data


def test_ssh_gives_a_real_shell_on_a_terminal(cluster: Cluster) -> None:
    with Terminal(cluster.place.argv(cluster.words("ssh")), cluster.place.environment, rows=33, columns=121) as terminal:
        terminal.read_until(r"[#$] $")
        terminal.type("tty; stty size; whoami\n")
        assert re.search(r"/dev/pts/\d+\r?\n33 121\r?\nroot", terminal.read_until(r"\n33 121\r?\nroot"))
        # The program in there, not the command out here, hears Ctrl-C.
        terminal.type("sh -c 'echo begun; exec sleep 100'\n")
        terminal.read_until(r"\nbegun\r?\n")
        terminal.type("\x03")
        terminal.read_until(r"\^C\r?\n.*[#$] $")
        terminal.type("echo code $?\n")
        terminal.read_until("code 130")
        terminal.type("exit 3\n")
        assert terminal.exit_code() == 3


def test_start_on_a_terminal_says_how_long_it_took(cluster: Cluster) -> None:
    with Terminal(cluster.place.argv(cluster.words("start")), cluster.place.environment, rows=33, columns=121) as terminal:
        assert terminal.exit_code(seconds=120) == 0
    done = next(line for line in terminal.shown.splitlines() if "Done! kubectl is now configured" in line)
    assert re.search(r"by default \(\d+\.\d s\)", done)


def test_logs_of_the_control_plane_and_the_node(cluster: Cluster, tmp_path: Path) -> None:
    text = cluster.ok("logs")
    for section in ("kube-apiserver", "etcd", "kubelet", "containerd", "coredns", "dmesg", "kernel", "Audit", "Last Start"):
        assert f"==> {section} <==" in text
    assert "etcdserver" in text or "etcd" in text.partition("==> etcd <==")[2].partition("==>")[0]
    file = tmp_path / "logs.txt"
    cluster.ok("logs", "--length=3", "--file", str(file))
    assert "==> kubelet <==" in file.read_text()


def test_terminal_escapes_of_the_node_are_shown_not_obeyed(cluster: Cluster, tmp_path: Path) -> None:
    line = r"hostile \033]0;owned\007 \233\033[2J\342\200\256"
    cluster.ssh(f"sudo sh -c \"printf '{line}\\n' >>/var/log/minikube/kubelet.log\"")
    file = tmp_path / "logs.txt"
    cluster.ok("logs", "--length=200", "--file", str(file))
    for text in (cluster.ok("logs", "--length=200"), file.read_text()):
        assert r"hostile \u001b]0;owned\u0007" in text
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    follower = cluster.begin("logs", "--follow", "--length=200")
    try:
        shown = read_until(follower, "hostile", seconds=20)
        assert r"\u001b]0;owned\u0007" in shown
        assert not {"\x1b", "\x07"} & set(shown)
    finally:
        follower.send_signal(signal.SIGINT)
        follower.wait(20)


def test_profiles_are_listed(cluster: Cluster) -> None:
    def rows(*flags: str) -> dict[str, dict[str, object]]:
        return {row["Name"]: row for row in cluster.place.run("profile", "list", "-o", "json", *flags).json()["valid"]}

    row = rows()[cluster.profile]
    assert row["Status"] in ("OK", "Running")
    assert row["Config"]["Driver"] == "none"  # type: ignore[index]
    assert row["Config"]["KubernetesConfig"]["KubernetesVersion"] == "v1.37.1"  # type: ignore[index]
    assert rows("--light")[cluster.profile]["Status"] == "Skipped"
    assert cluster.profile in cluster.place.run("profile", "list").stdout


def test_the_active_profile_is_chosen_and_used(cluster: Cluster) -> None:
    assert cluster.place.run("profile", cluster.profile).code == 0
    try:
        assert cluster.place.run("profile").stdout.strip() == cluster.profile
        assert cluster.place.run("ip").stdout == cluster.ok("ip")
    finally:
        cluster.place.run("config", "unset", "profile")


def test_update_context_repairs_the_kubeconfig(cluster: Cluster) -> None:
    cluster.kubectl("config", "set-cluster", cluster.profile, "--server=https://127.0.0.1:1", f"--context={cluster.profile}")
    broken = cluster.run("status")
    assert broken.code == 4
    assert "kubeconfig: Misconfigured" in broken.stdout
    assert "has been updated to point to" in cluster.ok("update-context")
    assert cluster.run("status").code == 0
    cluster.kubectl("get", "--raw", "/readyz")
    assert "No changes required" in cluster.ok("update-context")


def test_kubectl_is_kubectl(cluster: Cluster) -> None:
    answer = cluster.run("kubectl", "--", "get", "pod", "nobody")
    assert answer.code == 1
    assert answer.stdout == ""
    assert '"nobody" not found' in answer.stderr


def test_versions_of_the_components(cluster: Cluster) -> None:
    versions = json.loads(cluster.ok("version", "--components", "-o", "json"))
    assert versions["minikubeVersion"].startswith("v")
    for name in ("containerd", "crictl", "crun", "ctr", "kubelet", "runc"):
        assert re.search(r"\d+\.\d+", versions[name]), versions
    # Upstream's word for what a node does not have.
    assert {versions[name] for name in ("buildctl", "cri-dockerd", "crio", "docker", "dockerd", "podman")} == {"error"}


def test_other_contexts_are_left_alone(cluster: Cluster, restart: Restart, pair: Pair) -> None:
    """Through start, stop, start, and the deletion of one cluster beside another."""
    theirs = yaml.safe_load(ELSEWHERE)

    def check(text: str, ours: set[str]) -> None:
        config = yaml.safe_load(text)
        for section in ("clusters", "contexts", "users"):
            by_name = {entry["name"]: entry for entry in config[section]}
            (original,) = theirs[section]
            assert by_name.pop(original["name"]) == original
            assert by_name.keys() >= ours
            assert by_name.keys() <= ours | {pair.kept.profile, cluster.profile}

    stopped = yaml.safe_load(restart.kubeconfig)
    assert cluster.profile not in {entry["name"] for entry in stopped["contexts"]}
    assert stopped["current-context"] != cluster.profile
    check(restart.kubeconfig, set())
    check(cluster.place.kubeconfig.read_text(), {cluster.profile, pair.kept.profile})
