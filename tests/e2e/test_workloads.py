"""What people do with a cluster: run programs, reach them, look into them."""

from __future__ import annotations

import secrets
import signal
import urllib.request
from pathlib import Path

import pytest
from support import manifests
from support.minikube import read_until
from support.waiting import eventually

from e2e.conftest import Cluster

REPLICAS = 3


@pytest.fixture(scope="module")
def web(cluster: Cluster) -> set[str]:
    """A server scaled to three pods behind the service `web`, and the pod `client` beside them; gives the servers' names."""
    cluster.apply(*manifests.web("web"), manifests.pod("client"))
    cluster.kubectl("scale", "deployment/web", f"--replicas={REPLICAS}")
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
    cluster.kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=60s")
    return {pod["metadata"]["name"] for pod in cluster.get("pods", "-l", "app=web")["items"]}


def fetch(url: str) -> str:
    """Straight there, whatever proxy the environment names."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
        return str(answer.read().decode()).strip()


@pytest.mark.parametrize("name", ["web", "web.default.svc.cluster.local"])
def test_a_service_answers_by_name_from_another_pod(cluster: Cluster, web: set[str], name: str) -> None:
    assert cluster.kubectl("exec", "client", "--", "wget", "-q", "-T", "5", "-O", "-", f"http://{name}").strip() in web


def test_a_service_spreads_requests_over_all_of_its_pods(cluster: Cluster, web: set[str]) -> None:
    many = "for i in $(seq 60); do wget -q -T 5 -O - http://web || exit 1; done"
    assert set(cluster.kubectl("exec", "client", "--", "sh", "-c", many).split()) == web
    assert len(web) == REPLICAS


def test_a_pod_reaches_itself_through_its_service(cluster: Cluster, web: set[str]) -> None:
    many = "for i in $(seq 30); do wget -q -T 5 -O - http://web || exit 1; done"
    assert set(cluster.kubectl("exec", "deployment/web", "--", "sh", "-c", many).split()) <= web


def test_a_node_port_answers_on_the_host(cluster: Cluster, web: set[str]) -> None:
    port = cluster.get("service", "web")["spec"]["ports"][0]["nodePort"]
    assert fetch(f"http://{cluster.ok('ip').strip()}:{port}") in web


def test_the_api_answers_inside_a_pod(cluster: Cluster, web: set[str]) -> None:
    """By its service's name and address, as programs in a pod look for it; busybox has no TLS worth the name, so the port has to do."""
    assert (
        cluster.kubectl("exec", "client", "--", "sh", "-c", "nc -w 5 $KUBERNETES_SERVICE_HOST 443 </dev/null && echo open").strip()
        == "open"
    )
    assert "10.96.0.1" in cluster.kubectl("exec", "client", "--", "nslookup", "kubernetes.default.svc.cluster.local")


def test_the_host_and_the_control_plane_have_names_in_pods(cluster: Cluster, web: set[str]) -> None:
    gateway = cluster.ok("ip").strip().rpartition(".")[0] + ".1"
    assert gateway in cluster.kubectl("exec", "client", "--", "nslookup", "host.minikube.internal")
    assert cluster.ok("ip").strip() in cluster.kubectl("exec", "client", "--", "nslookup", "control-plane.minikube.internal")


def test_a_job_completes(cluster: Cluster) -> None:
    cluster.apply(manifests.job("sum", "echo $((40 + 2))"))
    cluster.kubectl("wait", "--for=condition=complete", "job/sum", "--timeout=60s")
    assert cluster.kubectl("logs", "job/sum").strip() == "42"


def test_exec_passes_input_and_exit_code(cluster: Cluster, web: set[str]) -> None:
    assert cluster.kubectl("exec", "-i", "client", "--", "tr", "a-z", "A-Z", input="loud") == "LOUD"
    assert cluster.run("kubectl", "--", "exec", "client", "--", "sh", "-c", "exit 5").code == 5


def test_logs_are_followed_to_the_end(cluster: Cluster) -> None:
    cluster.apply(manifests.pod("counter", "for i in $(seq 20); do echo line $i; sleep 0.2; done", restart="Never"))
    eventually(lambda: cluster.get("pod", "counter")["status"]["phase"] == "Running")
    process = cluster.begin("kubectl", "--", "logs", "-f", "counter")
    read_until(process, "line 1\n", seconds=20)
    assert cluster.get("pod", "counter")["status"]["phase"] == "Running"
    rest, _ = process.communicate(timeout=30)
    assert rest.splitlines()[-1] == "line 20"


def test_a_port_is_forwarded_to_localhost(cluster: Cluster, web: set[str]) -> None:
    process = cluster.begin("kubectl", "--", "port-forward", "--address=127.0.0.1", "service/web", ":80")
    try:
        line = read_until(process, "Forwarding from 127.0.0.1:", seconds=20).splitlines()[-1]
        port = line.split("127.0.0.1:")[1].split()[0]
        assert fetch(f"http://127.0.0.1:{port}") in web
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)


def test_files_are_copied_in_and_out(cluster: Cluster, web: set[str], tmp_path: Path) -> None:
    original, back = tmp_path / "original", tmp_path / "back"
    original.write_bytes(secrets.token_bytes(1 << 20))
    cluster.kubectl("cp", str(original), "client:/tmp/copy")
    cluster.kubectl("cp", "client:/tmp/copy", str(back))
    assert back.read_bytes() == original.read_bytes()


def test_services_outlive_a_kube_proxy_that_is_killed(cluster: Cluster, web: set[str]) -> None:
    """The next one finds the rules of the last, and has to know them for its own."""
    rules = "nft list map ip kube-proxy service-ips"
    before, old = cluster.ssh(rules), cluster.ssh("pgrep -x kube-proxy")
    cluster.ssh("pkill -9 -x kube-proxy")
    eventually(lambda: cluster.run("ssh", "--", "pgrep -x kube-proxy").stdout not in ("", old))
    eventually(lambda: cluster.run("ssh", "--", "curl -sf http://127.0.0.1:10256/healthz").code == 0)
    assert sorted(cluster.ssh(rules).split()) == sorted(before.split())
    assert cluster.kubectl("exec", "client", "--", "wget", "-q", "-T", "5", "-O", "-", "http://web").strip() in web
