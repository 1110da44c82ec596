"""Asking the cluster's DNS from a node that may be gone."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from minikube.cluster.readiness import Names
from minikube.drivers.base import Node
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.node.control import CommandTimedOut, ControlRefused, ControlUnreachable


@pytest.mark.parametrize(
    "error",
    [ControlUnreachable("/socket", "gone"), ControlRefused("exec", "no"), CommandTimedOut(), ConnectionResetError(), TimeoutError()],
)
def test_a_node_that_cannot_be_asked_has_no_dns_that_answers(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def run(self, *_: object, **__: object) -> None:
            raise error

    tracebacks: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", tracebacks.append)
    names = Names(cast("Node", Gone()), ClusterSpec(version="v1.37.1", node_name="test", node_ip="192.0.2.2"))
    names.told([])
    assert names.answer() is False
    assert tracebacks == []
