"""`start --hardened`, and what kube-bench says of it and of a default cluster: the figures and reasons in docs/security.md."""

from __future__ import annotations

import json
import os
import shlex
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import kubebench, manifests
from support.minikube import Minikube, Place
from support.nodeimage import fresh_name

from e2e.conftest import Cluster, not_ready

AUDIT_LOG = "/var/log/kubernetes/audit.log"
WHOLE = "CIS" in os.environ


@pytest.fixture(scope="module")
def hardened(place: Place, node_image: Path) -> Iterator[Minikube]:
    cluster = Minikube(place, fresh_name())
    try:
        cluster.start("--hardened")
        cluster.kubectl("create", "secret", "generic", "treasure", "--from-literal=word=precious")
        yield cluster
    finally:
        cluster.run("delete")


def benchmark(cluster: Minikube, kind: str) -> None:
    """The short form leaves out policies (section 5), of which kube-bench decides nearly nothing by itself."""
    figures, warnings = kubebench.documented()
    verdict = kubebench.run_in(cluster, kubebench.TARGETS if WHOLE else kubebench.TARGETS[:-1])
    assert verdict.checks["FAIL"] == [], verdict.failed
    assert verdict.checks["WARN"] == [check for check in warnings[kind] if WHOLE or not check.startswith("5.")]
    if WHOLE:
        assert verdict.totals == figures[kind]


def test_nothing_fails_the_cis_benchmark_and_every_warning_has_its_reason(hardened: Minikube) -> None:
    benchmark(hardened, "--hardened")


@pytest.mark.skipif(not WHOLE, reason="part of `make cis`")
def test_so_it_is_in_a_default_cluster(bare_cluster: Cluster) -> None:
    benchmark(bare_cluster, "default")


def test_every_pod_is_ready(hardened: Minikube) -> None:
    assert not_ready(hardened.get("pods", "-A")["items"]) == []
    assert "apiserver: Running" in hardened.ok("status")


def stored(cluster: Minikube, key: str) -> str:
    """What etcd has."""
    certificates = "/var/lib/minikube/certs/etcd"
    who = f"--cacert {certificates}/ca.crt --cert {certificates}/healthcheck-client.crt --key {certificates}/healthcheck-client.key"
    ask = f'curl -sf {who} -d "{{\\"key\\": \\"$(echo -n {key} | base64)\\"}}" https://127.0.0.1:2379/v3/kv/range'
    decode = "import base64, json, sys; sys.stdout.buffer.write(base64.b64decode(json.load(sys.stdin)['kvs'][0]['value']))"
    return cluster.ssh(f"{ask} | python3 -c {shlex.quote(decode)}")


def test_secrets_are_encrypted_in_the_database(hardened: Minikube) -> None:
    value = stored(hardened, "/registry/secrets/default/treasure")
    assert value.startswith("k8s:enc:secretbox:v1:key1:")
    assert "precious" not in value
    assert hardened.get("secret", "treasure")["data"] == {"word": "cHJlY2lvdXM="}
    assert hardened.ssh("stat -c %a /etc/kubernetes/apiserver/*").split() == ["600"] * 5


def test_the_audit_log_says_who_did_what_but_no_secret(hardened: Minikube) -> None:
    lines = hardened.ssh(f"cat {AUDIT_LOG}").splitlines()
    entries = [json.loads(line) for line in lines]
    made = [entry for entry in entries if entry["verb"] == "create" and entry.get("objectRef", {}).get("name") == "treasure"]
    assert [(entry["user"]["username"], entry["responseStatus"]["code"]) for entry in made] == [("minikube-user", 201)]
    assert not [line for line in lines if "cHJlY2lvdXM" in line]
    assert hardened.ssh(f"stat -c %a {AUDIT_LOG}").strip() == "600"


def test_a_privileged_pod_is_refused_where_no_label_allows_it(hardened: Minikube) -> None:
    hardened.kubectl("create", "namespace", "fresh")
    pod = manifests.pod("intruder")
    pod["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    answer = hardened.run("kubectl", "--", "-n", "fresh", "create", "-f", "-", input=json.dumps(pod))
    assert answer.code != 0
    assert 'violates PodSecurity "baseline:latest"' in answer.stderr
    hardened.kubectl("label", "namespace", "fresh", "pod-security.kubernetes.io/enforce=privileged")
    hardened.kubectl("-n", "fresh", "create", "-f", "-", "--dry-run=server", input=json.dumps(pod))


def anonymous(cluster: Minikube, path: str) -> int:
    context = ssl.create_default_context(cafile=cluster.place.home / "ca.crt")
    try:
        with urllib.request.urlopen(f"https://{cluster.ok('ip').strip()}:8443{path}", context=context, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_anonymous_requests_reach_health_checks_only(hardened: Minikube) -> None:
    paths = ("/livez", "/readyz", "/version", "/api/v1/namespaces/kube-public/configmaps/cluster-info", "/livez/ping")
    assert [anonymous(hardened, path) for path in paths] == [200, 200, 401, 401, 401]


def test_kube_systems_account_has_no_rights_and_its_network_is_closed(hardened: Minikube) -> None:
    account = "--as=system:serviceaccount:kube-system:default"
    assert hardened.run("kubectl", "--", "auth", "can-i", "list", "secrets", "-A", account).stdout.strip() == "no"
    policies = {obj["metadata"]["name"] for obj in hardened.get("networkpolicies", "-n", "kube-system")["items"]}
    assert policies == {"default-deny", "allow-dns", "allow-metrics"}


def test_a_second_start_is_hardened_too_and_a_third_need_not_be(hardened: Minikube) -> None:
    hardened.ok("stop")
    hardened.start()
    assert anonymous(hardened, "/version") == 401
    assert hardened.get("secret", "treasure")["data"] == {"word": "cHJlY2lvdXM="}
    hardened.start("--hardened=false")
    assert not_ready(hardened.get("pods", "-A")["items"]) == []
    assert anonymous(hardened, "/version") == 200
    assert "precious" in stored(hardened, "/registry/secrets/default/treasure")
    assert hardened.get("networkpolicies", "-n", "kube-system")["items"] == []
    assert hardened.get("clusterrolebinding", "minikube-rbac")["roleRef"]["name"] == "cluster-admin"
