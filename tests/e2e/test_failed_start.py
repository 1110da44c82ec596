"""A start that cannot succeed ends soon, says why in the words of whoever failed, and leaves a cluster that can be mended or deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.minikube import Answer, Minikube, temporary_place
from support.nodeimage import fresh_name

from e2e.conftest import not_ready

# Far below the six minutes that a start waits; all but the last of it is what a busy machine needs.
SOON = 240


def error(answer: Answer) -> dict[str, Any]:
    """The last event of a command that failed."""
    event = json.loads(answer.stdout.splitlines()[-1])["data"]
    assert int(event["exitcode"]) == answer.code
    assert "Traceback" not in answer.stderr
    found: dict[str, Any] = event
    return found


def attempt(cluster: Minikube, *flags: str) -> Answer:
    return cluster.run("start", "-o", "json", *flags, timeout=SOON)


@pytest.fixture
def fresh(node_image: Path) -> Iterator[Minikube]:
    with temporary_place() as place:
        yield Minikube(place, fresh_name())


@pytest.mark.parametrize(
    ("setting", "name", "code", "words"),
    [
        ("kubelet.no-such-flag=1", "K8S_UNKNOWN_FLAG", 108, "unknown flag: --no-such-flag"),
        ("apiserver.no-such-flag=1", "K8S_UNKNOWN_FLAG", 108, "kube-apiserver failed"),
        ("kube-proxy.mode=bogus", "K8S_INVALID_FLAG_VALUE", 108, "kube-proxy"),
    ],
)
def test_a_component_that_cannot_use_its_settings(fresh: Minikube, setting: str, name: str, code: int, words: str) -> None:
    failed = attempt(fresh, f"--extra-config={setting}")
    event = error(failed)
    assert (failed.code, event["name"]) == (code, name)
    assert words in event["message"]
    assert "--extra-config" in event["advice"]
    assert "host: Running" in fresh.run("status").stdout
    fresh.ok("delete")


def test_a_broken_cluster_is_named_and_can_be_mended(fresh: Minikube) -> None:
    fresh.start()
    good = fresh.get("configmap", "coredns", "-n", "kube-system")["data"]["Corefile"]
    corefile(fresh, ".:53 {\n  no-such-plugin\n}\n")
    fresh.kubectl("delete", "pod", "-n", "kube-system", "-l", "k8s-app=kube-dns", "--wait=false")
    failed = attempt(fresh)
    assert failed.code != 0, "DNS is part of what a start promises"
    assert "coredns" in (message := error(failed)["message"])
    assert "no-such-plugin" in message
    corefile(fresh, good)
    fresh.ok("stop")
    broken = fresh.place.home / "files/etc/containerd/config.toml"
    broken.parent.mkdir(parents=True)
    broken.write_text("this is [ no TOML\n")
    failed = attempt(fresh)
    assert (failed.code, error(failed)["name"]) == (93, "K8S_INSTALL_FAILED_CONTAINER_RUNTIME_NOT_RUNNING")
    assert "containerd failed" in error(failed)["message"]
    assert "TOML" in error(failed)["message"].upper()
    broken.unlink()
    fresh.ok("start", timeout=SOON)
    assert not_ready(fresh.get("pods", "-n", "kube-system")["items"]) == []


def corefile(cluster: Minikube, text: str) -> None:
    patch = json.dumps({"data": {"Corefile": text}})
    cluster.kubectl("patch", "configmap", "coredns", "-n", "kube-system", "--type=merge", "-p", patch)
