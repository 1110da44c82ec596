"""A database that names another authority: when that is so, and which pods are started again."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from minikube.cluster import newauthority
from minikube.drivers.base import Node
from minikube.drivers.values import Result
from minikube.kubernetes import pki
from minikube.kubernetes.api import Api
from minikube.kubernetes.certificates import Authorities
from minikube.output.reason import Reason

TRUSTED = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class Database:
    """What of an API server is the one object that says whom it trusts."""

    def __init__(self, trusted: str) -> None:
        self.trusted: dict[str, Any] = {"metadata": {}, "data": {"client-ca-file": trusted}}

    def find(self, path: str) -> dict[str, Any]:
        assert path == TRUSTED
        return self.trusted

    def list(self, _path: str, **_query: str) -> list[dict[str, Any]]:
        return []

    def delete(self, _path: str) -> None:
        pass

    def patch(self, path: str, change: dict[str, Any]) -> None:
        assert path == TRUSTED
        for part, values in change.items():
            self.trusted[part] |= values


class Machine:
    """What crictl says in a node, and what was asked of it."""

    def __init__(self, pods: object = (), containers: object = ()) -> None:
        self.answers = {"pods": json.dumps({"items": pods}).encode(), "ps": json.dumps({"containers": containers}).encode()}
        self.stopped: list[list[str]] = []
        self.kubelet_runs = True

    def run(self, argv: list[str], *, timeout: float | None = None) -> Result:
        assert timeout is not None
        if argv[1] not in self.answers:
            self.stopped.append([word for word in argv[1:] if not word.startswith("--")])
        return Result(0, self.answers.get(argv[1], b""), b"")

    def stop_services(self, *_: str) -> None:
        self.kubelet_runs = False

    def start_services(self, *_: str) -> None:
        self.kubelet_runs = True


def authorities() -> Authorities:
    return Authorities(pki.new_authority("minikubeCA"), pki.new_authority("proxyClientCA"))


def text(of: Authorities) -> str:
    return pki.authority_pem(of.cluster).certificate.decode()


def tell(database: Database, machine: Machine, of: Authorities) -> None:
    newauthority.tell(cast("Api", database), cast("Node", machine), of)


def is_unknown(database: Database, of: Authorities) -> bool:
    return newauthority.is_unknown(cast("Api", database), of)


def test_an_authority_is_unknown_until_it_has_been_told() -> None:
    """The API server adds the new one to the old one by itself, which tells no pod."""
    old, new = authorities(), authorities()
    database = Database(text(old) + text(new))
    assert is_unknown(database, new)
    tell(database, Machine(), new)
    assert not is_unknown(database, new)
    assert is_unknown(database, old)


def test_an_api_server_that_trusts_another_authority_for_clients_is_told_once() -> None:
    """As with --extra-config=apiserver.client-ca-file: it adds that one whenever it is missing."""
    other, own = authorities(), authorities()
    database = Database(text(other))
    assert is_unknown(database, own)
    tell(database, Machine(), own)
    database.trusted["data"]["client-ca-file"] += text(other)
    assert not is_unknown(database, own)
    assert is_unknown(database, authorities())


def test_only_pods_that_the_kubelet_starts_again_are_stopped() -> None:
    source = "kubernetes.io/config.source"
    pods = [{"id": "api", "annotations": {source: "api"}}, {"id": "static", "annotations": {source: "file"}}]
    odd: list[object] = [{"id": "bare", "annotations": {}}, {"id": "none"}, {"id": "null", "annotations": None}, {"id": 1}, {}, None, "pod"]
    containers = [{"id": "one", "podSandboxId": "api"}, {"id": "two", "podSandboxId": "static"}]
    odd_containers: list[object] = [{"id": "three"}, {"podSandboxId": "api"}, {"id": "four", "podSandboxId": ["api"]}, None]
    machine = Machine([*odd, *pods], [*odd_containers, *containers])
    tell(Database(""), machine, authorities())
    assert machine.stopped == [["stop", "one"], ["stopp", "api"]]
    assert machine.kubelet_runs


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"items": 3}', b"null", b"[" * 100_000])
def test_an_answer_that_is_no_list_of_pods_is_a_reason_and_the_kubelet_goes_on(answer: bytes) -> None:
    machine, database, own = Machine(), Database(""), authorities()
    machine.answers["pods"] = answer
    with pytest.raises(Reason, match="crictl does not say which pods there are"):
        tell(database, machine, own)
    assert machine.kubelet_runs
    assert is_unknown(database, own)
