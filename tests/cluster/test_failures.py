"""Services and containers that end again and again: seen before the time is up, and told apart from those that are only early."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minikube.cluster import failures
from minikube.drivers.values import Result
from minikube.output.knownproblems import explained
from minikube.output.reason import Reason

NO_FLAG = 'I1118 starting\nE1118 15:08:15 71 run.go:72] "command failed" err="failed to parse kubelet flag: unknown flag: --no-such-flag"\n'
NOT_YET = 'E1118 run.go:72] "command failed" err="validate CRI v1 runtime API: rpc error: server is not initialized yet"'


def service(**values: Any) -> dict[str, Any]:
    return {"state": "backoff", "last_exit": 1, "alike": 3, "failing": 6.0, "words": NO_FLAG} | values


def test_a_service_that_failed_three_times_has_its_words_and_the_known_problem() -> None:
    failure = failures.of_services({"door": service(state="done", alike=0), "kubelet": service()})
    assert failure
    assert failure.message.startswith("kubelet failed 3 times with exit code 1: E1118")
    known = explained(failure)
    assert (known.id, known.exit_code) == ("K8S_UNKNOWN_FLAG", 108)


def test_a_container_runtime_has_upstreams_id() -> None:
    failure = failures.of_services({"containerd": service(words="containerd: failed to load TOML: bad")})
    assert failure
    assert (explained(failure).id, failure.exit_code) == ("K8S_INSTALL_FAILED_CONTAINER_RUNTIME_NOT_RUNNING", 93)


def test_its_own_cause_comes_first() -> None:
    failure = failures.of_services(
        {"containerd": service(words='level=fatal msg="failed to create fsnotify watcher: too many open files"')}
    )
    assert failure
    assert (explained(failure).id, explained(failure).exit_code) == ("HOST_INOTIFY_LIMIT", 38)


@pytest.mark.parametrize(
    "values",
    [
        *({"alike": 2}, {"failing": 1.0}, {"state": "running"}, {"words": NOT_YET}, {"words": "dial tcp: connection refused"}),
        *({"alike": None}, {"failing": None}),
    ],
)
def test_one_that_may_come_yet_is_waited_for(values: dict[str, Any]) -> None:
    assert failures.of_services({"kubelet": service(**values)}) is None


BOOTED = 1_800_000_000.0


class Node:
    """What its supervisor and crictl say in it."""

    def __init__(self, *containers: dict[str, Any], log: bytes = b"Error: unknown flag: --nonsense\n") -> None:
        self.containers, self.log = containers, log

    def services(self) -> dict[str, Any]:
        return {"containerd": {"since": BOOTED}}

    def run(self, argv: list[str], **_: Any) -> Result:
        return Result(0, b"", self.log) if argv[1] == "logs" else Result(0, json.dumps({"containers": self.containers}).encode(), b"")


def container(name: str, attempt: int, state: str, *, age: float = 1) -> dict[str, Any]:
    found: dict[str, Any] = {"id": f"{name}-{attempt}", "metadata": {"name": name}, "state": state}
    if attempt:
        found["metadata"]["attempt"] = attempt
    return found | {"labels": {"io.kubernetes.pod.name": f"{name}-node"}, "createdAt": str(int((BOOTED + age) * 1e9))}


def failure_of(node: Node, *, fresh: bool = True) -> Reason | None:
    return failures.Containers(node, fresh=fresh).failure()  # type: ignore[arg-type]


def test_a_container_that_ended_three_times_is_named() -> None:
    etcd, ended = container("etcd", 0, "CONTAINER_RUNNING"), container("kube-apiserver", 2, "CONTAINER_EXITED")
    failure = failure_of(Node(ended, etcd))
    assert failure
    assert failure.message == "kube-apiserver failed 3 times: Error: unknown flag: --nonsense"


def test_containers_that_run_or_ended_less_often_are_not() -> None:
    ended, runs = container("kube-apiserver", 2, "CONTAINER_EXITED"), container("kube-apiserver", 3, "CONTAINER_RUNNING")
    for found in ([ended, runs], [container("etcd", 1, "CONTAINER_EXITED")], []):
        assert failure_of(Node(*found)) is None
    assert failure_of(Node(ended, log=b"F1118 dial tcp 127.0.0.1:2379: connect: connection refused")) is None


def test_attempts_before_this_boot_of_the_node_do_not_count() -> None:
    """A cluster that was started often has many of them, and all had ended."""
    assert failure_of(Node(container("etcd", 7, "CONTAINER_EXITED", age=-60)), fresh=False) is None
    node = Node(container("etcd", 8, "CONTAINER_EXITED"))
    containers = failures.Containers(node, fresh=False)  # type: ignore[arg-type]
    assert containers.failure() is None
    node.containers = (container("etcd", 9, "CONTAINER_EXITED"),)
    assert containers.failure() is None
    node.containers = (container("etcd", 10, "CONTAINER_EXITED"),)
    failure = containers.failure()
    assert failure
    assert failure.message.startswith("etcd failed 3 times")


def test_a_node_that_talks_nonsense_is_no_failure() -> None:
    class Odd(Node):
        def run(self, argv: list[str], **_: Any) -> Result:
            return Result(0, b'{"containers": [{"id": 1}]}', b"")

    assert failure_of(Odd()) is None


@pytest.mark.parametrize("odd", [{"metadata": {"name": "etcd", "attempt": float("inf")}}, {"createdAt": "9" * 400}])
def test_a_container_with_a_number_beyond_all_bounds_is_no_failure(odd: dict[str, Any]) -> None:
    assert failure_of(Node(container("etcd", 2, "CONTAINER_EXITED") | odd)) is None


def test_a_runtime_that_has_run_for_ever_is_no_failure() -> None:
    class Odd(Node):
        def services(self) -> dict[str, Any]:
            return {"containerd": {"since": 10**400}}

    assert failure_of(Odd(container("etcd", 2, "CONTAINER_EXITED"))) is None
