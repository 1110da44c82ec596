import gzip
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from apiserver import Cluster, serve

from minikube.kubernetes import health
from minikube.kubernetes.api import Api, ApiError, ApiUnreachable, collection_path, object_path
from minikube.kubernetes.certificates import Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.healthz import is_healthy
from minikube.output.reason import Reason

ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "kube-system"}}
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}


class Running:
    def __init__(self, home: Path, node: Path) -> None:
        ensure_cluster_certificates(Identity("dev", "dev", "10.5.0.2"), node_directory=node, authorities=ensure_authorities("dev"))
        self.cluster = Cluster()
        self.server = serve(self.cluster, certificate=node / "apiserver.crt", key=node / "apiserver.key", authority=node / "ca.crt")
        self.port = self.server.server_address[1]
        profile = home / "profiles/dev"
        self.files = {"authority": profile / "ca.crt", "certificate": profile / "client.crt", "key": profile / "client.key"}

    def api(self, **changes) -> Api:
        return Api(f"https://127.0.0.1:{self.port}", **(self.files | changes))


@pytest.fixture
def running(home, tmp_path):
    running = Running(home, tmp_path / "node")
    yield running
    running.server.shutdown()
    running.server.server_close()


def pod(name: str, labels: dict | None = None, **status) -> dict:
    return {"metadata": {"name": name, "labels": labels or {}}, "status": status}


def test_paths():
    assert object_path(ACCOUNT) == "/api/v1/namespaces/kube-system/serviceaccounts/a"
    assert collection_path(ROLE) == "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def test_create_get_list_delete_on_one_connection(running):
    with running.api() as api:
        api.create(ACCOUNT)
        assert api.get(object_path(ACCOUNT))["metadata"]["name"] == "a"
        assert len(api.list(collection_path(ACCOUNT))) == 1
        api.patch(object_path(ACCOUNT), {"x": 1})
        assert api.get(object_path(ACCOUNT))["x"] == 1
        api.delete(object_path(ACCOUNT))
        api.delete(object_path(ACCOUNT))
        assert api.find(object_path(ACCOUNT)) is None
    assert len(running.cluster.connections) == 1


def test_errors_are_ours(running):
    with running.api() as api, pytest.raises(ApiError) as caught:
        api.get("/api/v1/namespaces/kube-system/pods/none")
    assert (caught.value.status, caught.value.reason, str(caught.value)) == (404, "NotFound", "it is NotFound")


def test_nobody_there(running):
    running.server.shutdown()
    running.server.server_close()
    with running.api() as api:
        with pytest.raises(ApiUnreachable):
            api.get("/version")
        assert not api.is_ready()
        began = time.monotonic()
        assert not api.wait_ready(deadline=began + 0.2)
    assert not is_healthy("dev", "127.0.0.1", running.port)


def test_a_stranger_is_not_the_api_server(running, tmp_path, monkeypatch):
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / "elsewhere"))
    ensure_authorities("dev")
    with running.api(authority=tmp_path / "elsewhere/.minikube/ca.crt") as api, pytest.raises(ApiUnreachable):
        api.get("/version")
    assert not is_healthy("dev", "127.0.0.1", running.port)


def test_create_all_brings_what_exists_in_line(running):
    with running.api() as api:
        api.create_all([ACCOUNT, ROLE])
        api.create_all([ACCOUNT | {"labels": {"new": "1"}}, ROLE])
        assert api.get(object_path(ACCOUNT))["labels"] == {"new": "1"}
    assert [method for method, _, _ in running.cluster.requests] == ["POST", "POST", "POST", "GET", "PATCH", "POST", "GET", "PATCH", "GET"]
    assert "fieldManager=minikube&force=true" in running.cluster.requests[4][1]


def test_create_all_passes_on_what_is_really_wrong(running):
    running.cluster.answers[collection_path(ROLE)] = (422, {"reason": "Invalid", "message": "no such verb"})
    with running.api() as api, pytest.raises(ApiError, match="no such verb"):
        api.create_all([ROLE])


def test_readiness(running):
    running.cluster.answers["/readyz"] = (500, {})
    with running.api() as api:
        assert not api.is_ready()
        assert not is_healthy("dev", "127.0.0.1", running.port)
        running.cluster.answers["/readyz"] = (200, {})
        assert api.wait_ready(deadline=time.monotonic() + 5)
        assert is_healthy("dev", "127.0.0.1", running.port)


def test_watch(running):
    running.cluster.events = [{"type": "ADDED", "object": pod("a")}, {"type": "MODIFIED", "object": pod("b")}]
    with running.api() as api:
        seen = [(kind, obj["metadata"]["name"]) for kind, obj in api.watch("/api/v1/pods", deadline=time.monotonic() + 5)]
    assert seen == [("ADDED", "a"), ("MODIFIED", "b")]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MIB = 1 << 20


def drip(piece: bytes) -> Iterator[bytes]:
    for _ in range(60):
        time.sleep(0.05)
        yield piece


SLOW = {
    "before the headers": lambda: chain(drip(b"HTTP/1.1 100 Continue\r\n\r\n"), [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"]),
    "of known length": lambda: chain([b"HTTP/1.1 200 OK\r\nContent-Length: 62\r\n\r\n"], drip(b" "), [b"{}"]),
    "in chunks": lambda: chain([CHUNKED], drip(b"1\r\n \r\n"), [b"2\r\n{}\r\n0\r\n\r\n"]),
}
LARGE = {
    "of known length": lambda: (f"HTTP/1.1 200 OK\r\nContent-Length: {65 * MIB + 2}\r\n\r\n".encode(), *[b" " * MIB] * 65, b"{}"),
    "in chunks": lambda: (CHUNKED, *[b"100000\r\n" + b" " * MIB + b"\r\n"] * 65, b"2\r\n{}\r\n0\r\n\r\n"),
    "compressed": lambda: (
        f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(BOMB)}\r\n\r\n".encode(),
        BOMB,
    ),
}
BOMB = gzip.compress(b" " * 65 * MIB + b"{}")
LONG = {
    "event": (CHUNKED, *[b"100000\r\n" + b" " * MIB + b"\r\n"] * 9, b'1b\r\n{"type":"X","object":null}\n\r\n0\r\n\r\n'),
    "line before a chunk": (CHUNKED, b"1b;", *[b"x" * MIB] * 9, b'\r\n{"type":"X","object":null}\n\r\n0\r\n\r\n'),
}


@pytest.mark.parametrize("answer", SLOW)
def test_an_answer_that_drips_is_given_up(running, answer):
    """It would be whole in the end, and no single byte is late."""
    running.cluster.raw["/version"] = SLOW[answer]
    with running.api(timeout=0.5) as api, pytest.raises(ApiUnreachable):
        api.get("/version")


@pytest.mark.parametrize("answer", LARGE)
def test_an_answer_that_is_too_large_is_not_taken(running, answer):
    running.cluster.raw["/version"] = LARGE[answer]
    with running.api() as api:
        with pytest.raises((ApiUnreachable, ApiError)):
            api.get("/version")
        assert api.list("/api/v1/pods") == []


@pytest.mark.parametrize("what", LONG)
def test_a_watch_with_a_line_that_is_too_long_is_given_up(running, what):
    running.cluster.raw["/api/v1/pods"] = lambda: LONG[what]
    with running.api() as api, pytest.raises(ApiUnreachable):
        list(api.watch("/api/v1/pods", deadline=time.monotonic() + 5))


def test_an_answer_in_chunks_leaves_the_connection_open(running):
    running.cluster.raw["/version"] = lambda: (CHUNKED, b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
    with running.api() as api:
        assert [api.get("/version") for _ in range(3)] == [{}, {}, {}]
    assert len(running.cluster.connections) == 1


def test_everything_asked_for_is_there(running):
    answers = running.cluster.answers
    answers["/healthz"] = (200, {})
    answers["/version"] = (200, {"gitVersion": "v1.37.1"})
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [pod(app, {label: value}, **ready) for app, (label, value) in health.SYSTEM_APPS.items()]
    answers["/api/v1/namespaces/kube-system/pods"] = (200, {"items": pods})
    answers["/api/v1/namespaces/default/serviceaccounts/default"] = (200, {"metadata": {}})
    answers["/api/v1/nodes/dev"] = (200, pod("dev", conditions=[{"type": "Ready", "status": "True"}]))
    with running.api() as api:
        health.wait_for(api, health.parse_wait("all"), node_name="dev", version="v1.37.1", deadline=0, kubelet_runs=lambda: True)
        health.wait_pods_ready(api, deadline=0, node_name="dev")


@pytest.mark.parametrize(
    ("component", "says"),
    [
        ("apiserver", "the API server is v1.36.4, not v1.37.1"),
        ("system_pods", "1 pods in kube-system"),
        ("default_sa", "default/default is not there"),
        ("apps_running", "kube-dns: no pod"),
        ("node_ready", "cni plugin not initialized"),
        ("kubelet", "the kubelet is not running"),
        ("extra", "pod etcd-dev: etcd is CrashLoopBackOff (back-off 10s)"),
    ],
)
def test_what_is_missing_is_said(running, component, says):
    answers = running.cluster.answers
    answers["/healthz"] = (200, {})
    answers["/version"] = (200, {"gitVersion": "v1.36.4"})
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
    etcd = pod("etcd-dev", {"component": "etcd"}, phase="Running", containerStatuses=[{"name": "etcd", "state": waiting}])
    answers["/api/v1/namespaces/kube-system/pods"] = (200, {"items": [etcd]})
    answers["/api/v1/nodes/dev"] = (
        200,
        pod("dev", conditions=[{"type": "Ready", "status": "False", "message": "cni plugin not initialized"}]),
    )
    with running.api() as api, pytest.raises(Reason) as caught:
        health.wait_for(api, {component: True}, node_name="dev", version="v1.37.1", deadline=0, kubelet_runs=lambda: False)
    assert caught.value.id == "GUEST_START"
    assert says in caught.value.message


def test_waiting_outlasts_an_api_server_that_comes_late(running):
    ready = (200, pod("dev", conditions=[{"type": "Ready", "status": "True"}]))
    answers = iter([(503, {}), (404, {})])

    def check(api: Api) -> str:
        running.cluster.answers["/api/v1/nodes/dev"] = next(answers, ready)
        return health._node_ready(api, "dev")

    with running.api() as api:
        health.wait_until(api, check, what="node", deadline=time.monotonic() + 30)


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"phase": "Succeeded"}, ""),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, ""),
        ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]}, "pod p: 0/1 nodes"),
        (
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]},
            "pod p: ContainersNotReady",
        ),
        ({"containerStatuses": [{"name": "c", "state": {"terminated": {"reason": "Error"}}}]}, "pod p: c is Error"),
        ({}, "pod p: Pending"),
    ],
)
def test_why_a_pod_is_not_ready(status, says):
    assert health.why_not_ready(pod("p", **status)) == says


def test_parse_wait():
    assert health.parse_wait("apiserver,system_pods") == {"apiserver": True, "system_pods": True}
    assert health.parse_wait(["node_ready"]) == {"node_ready": True}
    assert all(health.parse_wait("true").values())
    assert not any(health.parse_wait(["none"]).values())
    assert health.parse_wait("") == {"apiserver": True, "system_pods": True}
    with pytest.raises(Reason) as caught:
        health.parse_wait("dns")
    assert caught.value.id == "MK_USAGE"
