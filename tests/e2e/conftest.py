"""One real cluster for the whole session, in a home and with a kubeconfig of its own, and what tests on it share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import host, manifests, servicetokens
from support.minikube import Answer, Minikube, Place, temporary_place
from support.nodeimage import fresh_name, provide_node_image
from support.testimages import build_test_images

from e2e.pair import Pair, make_pair

ELSEWHERE = """\
apiVersion: v1
kind: Config
clusters:
- name: elsewhere
  cluster: {server: "https://192.0.2.1:6443"}
users:
- name: someone
  user: {token: "0123"}
contexts:
- name: elsewhere
  context: {cluster: elsewhere, user: someone, namespace: theirs}
current-context: elsewhere
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs a cluster, and a cluster needs root."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.cluster)
            if os.geteuid() != 0:
                item.add_marker(pytest.mark.skip(reason="real clusters on the native driver need root"))


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """Where the session's clusters live; its kubeconfig already leads to a cluster of somebody else."""
    with temporary_place() as chosen:
        chosen.kubeconfig.write_text(ELSEWHERE)
        yield chosen


@pytest.fixture(scope="session")
def node_image(place: Place) -> Path:
    """The node image in the store: every component is there once this exists."""
    return provide_node_image(place)


class Cluster(Minikube):
    """The session's cluster, and what was seen the moment `start` had ended."""

    started: str
    first_pods: list[dict[str, Any]]
    first_context: str


@pytest.fixture(scope="session")
def bare_cluster(place: Place, node_image: Path) -> Cluster:
    """Started with default settings. The place deletes it."""
    cluster = Cluster(place, fresh_name())
    cluster.started = cluster.start()
    cluster.first_pods = cluster.get("pods", "-A")["items"]
    cluster.first_context = cluster.kubectl("config", "current-context", "--context=").strip()
    return cluster


@pytest.fixture(scope="session")
def cluster(bare_cluster: Cluster, node_image: Path, place: Place) -> Cluster:
    """The session's cluster with the test images in it, brought in through `minikube ssh`."""
    archive = build_test_images(place.directory, node_image=node_image)
    bare_cluster.ssh("ctr -n k8s.io images import -", input=archive.read_bytes())
    return bare_cluster


class Restart(NamedTuple):
    """What was seen around one `stop` and the `start` after it."""

    identity: tuple[str, str]
    stop: Answer
    status: Answer
    status_json: Answer
    status_layout: Answer
    ssh: Answer
    ip: Answer
    kubectl: Answer
    profiles: Answer
    traces: dict[str, list[str]]
    kubeconfig: str
    expired_tokens: list[str]
    start: Answer
    started_before_the_kubelet: str
    first_containers: dict[str, Any]
    identity_after: tuple[str, str]


@pytest.fixture(scope="session")
def volume(cluster: Cluster) -> Cluster:
    """A cluster whose pod `keeper` has written a word into a volume."""
    cluster.apply(manifests.claim("kept"))
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/kept", "--timeout=30s")
    cluster.apply(manifests.pod("keeper", claim="kept"))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=60s")
    cluster.kubectl("exec", "keeper", "--", "sh", "-c", "echo precious > /data/word && sync")
    return cluster


@pytest.fixture(scope="session")
def restart(volume: Cluster, node_image: Path) -> Restart:
    """The session's cluster, stopped once, looked at, and started again: several files test what they care about."""
    cluster = volume
    return Restart(
        identity=identity(cluster),
        stop=cluster.run("stop", "-o", "json"),
        status=cluster.run("status"),
        status_json=cluster.run("status", "-o", "json"),
        status_layout=cluster.run("status", "-o", "json", "--layout=cluster"),
        ssh=cluster.run("ssh", "--", "true"),
        ip=cluster.run("ip"),
        kubectl=cluster.run("kubectl", "--", "get", "nodes"),
        profiles=cluster.place.run("profile", "list", "-o", "json"),
        traces=host.traces(cluster, node_image),
        kubeconfig=cluster.place.kubeconfig.read_text(),
        expired_tokens=let_tokens_expire(cluster),
        start=cluster.run("start", "-o", "json", timeout=300),
        started_before_the_kubelet=cluster.ssh("cat /var/log/minikube/forerunners.log"),
        first_containers=json.loads(cluster.ssh("crictl ps -o json --label io.kubernetes.pod.namespace=kube-system")),
        identity_after=identity(cluster),
    )


def let_tokens_expire(cluster: Minikube) -> list[str]:
    """As if the cluster had been stopped for two hours; the names of the pods whose tokens have expired."""
    kept = cluster.place.home / "machines" / cluster.profile / "state/var/lib/minikube/forerunners.json"
    found, expired = json.loads(kept.read_bytes()), []
    for pod in found["pods"]:
        for volume in pod["volumes"]:
            header, _, signature = volume["files"]["token"][1].split(".")
            claims = servicetokens.unchecked_claims(volume["files"]["token"][1])
            claims |= {name: claims[name] - 7200 for name in ("iat", "nbf", "exp")}
            volume["files"]["token"][1] = f"{header}.{servicetokens.encoded(json.dumps(claims).encode())}.{signature}"
            if claims["exp"] < time.time():
                expired.append(pod["name"])
    kept.write_text(json.dumps(found))
    return expired


@pytest.fixture(scope="session")
def pair(place: Place, node_image: Path) -> Pair:
    return make_pair(place, (fresh_name(), fresh_name()), node_image)


def identity(cluster: Minikube) -> tuple[str, str]:
    """What makes a cluster this one: the uid of a namespace made with it, and its node's address."""
    return cluster.get("namespace", "kube-system")["metadata"]["uid"], cluster.ok("ip").strip()


def not_ready(pods: list[dict[str, Any]]) -> list[str]:
    """Pods that are not Running with every container ready, with their conditions."""
    bad = []
    for pod in pods:
        statuses = pod["status"].get("containerStatuses", [])
        if pod["status"]["phase"] != "Running" or not statuses or not all(status["ready"] for status in statuses):
            bad.append(f"{pod['metadata']['name']}: {json.dumps(pod['status'].get('conditions', []))}")
    return bad
