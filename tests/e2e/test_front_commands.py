"""Commands that answer from a running cluster: service list, addons, being called as kubectl, completion."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import yaml
from support.minikube import CLONE, Answer

from e2e.conftest import Cluster


def test_service_list(cluster: Cluster) -> None:
    ports = [{"name": "web", "port": 80, "nodePort": 31280}, {"name": "more", "port": 81, "nodePort": 31281}]
    cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}, "spec": {"type": "NodePort", "ports": ports}})
    try:
        address = cluster.ok("ip").strip()
        rows = {row["Name"]: row for row in json.loads(cluster.ok("service", "list", "-o", "json"))}
        urls = [f"http://{address}:31280", f"http://{address}:31281"]
        assert rows["front"] == {"Namespace": "default", "Name": "front", "URLs": urls, "PortNames": ["web/80", "more/81"]}
        assert rows["kube-dns"] == {"Namespace": "kube-system", "Name": "kube-dns", "URLs": [], "PortNames": ["No node port"]}
        table = cluster.ok("service", "list", "-n", "default", "--format={{.Name}}@{{.Port}}")
        assert "web/80@31280" in table
        assert "kube-dns" not in table
        refused = cluster.run("service", "list", "-n", "default", "--format={{.IP")
        assert (refused.code, "Exiting due to MK_FORMAT_USAGE: " in refused.stderr) == (10, True), refused
        assert [cell.strip() for cell in table.splitlines()[1].strip("│").split("│")] == ["NAMESPACE", "NAME", "TARGET PORT", "URL"]
    finally:
        cluster.kubectl("delete", "service", "front")


def test_services_that_the_api_server_does_not_tell(cluster: Cluster) -> None:
    answer = cluster.run("service", "list", "-n", "no/such?namespace=1")
    assert (answer.code, "Exiting due to SVC_LIST: " in answer.stderr) == (110, True), answer
    assert "minikube status" in answer.stderr
    certificate = cluster.place.home / "profiles" / cluster.profile / "client.crt"
    kept = certificate.read_bytes()
    certificate.unlink()
    try:
        answer = cluster.run("service", "list")
        assert (answer.code, "Exiting due to SVC_LIST: " in answer.stderr) == (110, True), answer
    finally:
        certificate.write_bytes(kept)


def test_an_api_server_that_does_not_answer(cluster: Cluster) -> None:
    cluster.ssh("pkill -STOP -x kube-apiserver")
    try:
        answer = cluster.run("service", "list")
    finally:
        cluster.ssh("pkill -CONT -x kube-apiserver")
    assert (answer.code, "apiserver is not running: (state=Stopped)" in answer.stdout) == (103, True), answer


def test_addons(cluster: Cluster) -> None:
    rows = json.loads(cluster.ok("addons", "list", "-o", "json"))
    enabled = {name for name, row in rows.items() if row["Status"] == "enabled"}
    assert enabled == {"default-storageclass", "storage-provisioner"}
    assert "is enabled" in cluster.ok("addons", "enable", "storage-provisioner")
    assert cluster.run("addons", "enable", "ingress").code == 16


def _as_kubectl(cluster: Cluster, directory: Path, *words: str, **environment: str) -> Answer:
    link = directory / "kubectl"
    if not link.is_symlink():
        link.symlink_to(CLONE / "minikube")
    done = subprocess.run([link, *words], env=cluster.place.environment | environment, capture_output=True, text=True, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_called_as_kubectl(cluster: Cluster, tmp_path: Path) -> None:
    named = _as_kubectl(cluster, tmp_path, f"--context={cluster.profile}", "get", "nodes", "-o", "name")
    assert named == (0, f"node/{cluster.profile}\n", "")
    assert _as_kubectl(cluster, tmp_path, "get", "pod", "nobody", "--context", cluster.profile).code == 1
    version = yaml.safe_load(_as_kubectl(cluster, tmp_path, "version", "--client", "-o", "yaml", "--context", cluster.profile).stdout)
    assert version["clientVersion"]["gitVersion"] == "v1.37.1"


def test_called_as_kubectl_for_clusters_of_others(cluster: Cluster, tmp_path: Path) -> None:
    assert _as_kubectl(cluster, tmp_path, "config", "get-contexts", "elsewhere", "-o", "name").stdout == "elsewhere\n"
    other = tmp_path / "other"
    other.write_text("apiVersion: v1\nkind: Config\ncurrent-context: theirs\ncontexts:\n- name: theirs\n  context: {cluster: c, user: u}\n")
    assert _as_kubectl(cluster, tmp_path, f"--kubeconfig={other}", "config", "current-context").stdout == "theirs\n"
    assert _as_kubectl(cluster, tmp_path, "config", "current-context", KUBECONFIG=str(other)).stdout == "theirs\n"


def test_completion_knows_the_cluster(cluster: Cluster) -> None:
    words = cluster.place.run("__complete", "--", "ssh", "-p", cluster.profile, "-n", "").stdout
    assert words.split() == [cluster.profile]
