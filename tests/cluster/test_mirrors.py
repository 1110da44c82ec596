"""Mirrors, registries and proxies: from what the user says to what the node and the sources get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.startsettings import settings

from minikube.artifacts.origin import Origin
from minikube.cluster.mirrors import plan_downloads, sourcing
from minikube.cluster.nodeproxies import node_proxies
from minikube.cluster.services import metadata
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.output.reason import Reason
from minikube.profiles.clusterconfig import new_cluster_config


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))


def test_what_was_said_once_is_kept() -> None:
    config = new_cluster_config("x")
    first = settings(
        binary_mirror="http://mirror.example/k8s/",
        image_repository="registry.example/k8s",
        insecure_registry=["10.0.0.5:5000", "10.96.0.0/12"],
        registry_mirror=["https://hub.example"],
        source="release",
    )
    plan_downloads(first, config, fresh=True)
    plan_downloads(settings(), config, fresh=False)
    chosen = sourcing(settings(), config)
    assert chosen.origin == Origin(
        "http://mirror.example/k8s", "registry.example/k8s", ("10.0.0.5:5000", "10.96.0.0/12"), ("https://hub.example",)
    )
    assert (sourcing(first, config).source, chosen.source) == ("release", "auto")


def test_the_public_places_are_the_default() -> None:
    config = new_cluster_config("x")
    plan_downloads(settings(), config, fresh=True)
    assert sourcing(settings(), config).origin == Origin()
    assert config.KubernetesConfig.ImageRepository == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"binary_mirror": "mirror.example"},
        {"registry_mirror": ["mirror.example"]},
        {"insecure_registry": ["http://10.0.0.5"]},
        {"insecure_registry": ["10.0.0.0/99"]},
        {"image_mirror_country": "atlantis"},
        {"source": "elsewhere"},
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Reason) as caught:
        plan_downloads(settings(**wrong), new_cluster_config("x"), fresh=True)
    assert caught.value.id == "MK_USAGE"


class Listener:
    """Takes down what a user would be told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def info(self, message: str, *, style: str = "") -> None:
        self.said.append(message)

    warning = info


class Node:
    gateway = "192.168.49.1"


SPEC = ClusterSpec(version="v1.37.1", node_name="x", node_ip="192.168.49.2", dns_domain="home.arpa")


def proxies(**environment: str) -> tuple[dict[str, str], list[str]]:
    listener: Any = Listener()
    node: Any = Node()
    return node_proxies(SPEC, node, listener, environment=environment), listener.said


def test_no_proxy_is_extended_by_what_is_the_clusters_own() -> None:
    found, said = proxies(HTTPS_PROXY="http://me:secret@proxy.example:3128", NO_PROXY="intranet.example,localhost")
    assert found["HTTPS_PROXY"] == "http://me:secret@proxy.example:3128"
    assert found["NO_PROXY"].split(",") == [
        *("intranet.example", "localhost", "127.0.0.1", "192.168.49.2", "192.168.49.1", "10.96.0.0/12", "10.244.0.0/16"),
        *("control-plane.minikube.internal", ".svc", ".home.arpa"),
    ]
    assert "10.96.0.0/12" in said[0]
    assert "secret" not in said[0]
    assert "HTTP_PROXY" not in found


def test_a_proxy_on_this_machine_is_none_for_the_node() -> None:
    found, said = proxies(HTTP_PROXY="127.0.0.1:3128", https_proxy="http://proxy.example:3128")
    assert found["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert "HTTP_PROXY" not in found
    assert "not passed" in said[0]


def test_without_proxies_nothing_is_said() -> None:
    assert proxies(NO_PROXY="x") == ({}, [])


def test_only_the_runtime_gets_them() -> None:
    services = metadata(SPEC, setup=[], write_manifests=False, seed_database=False, proxies={"HTTP_PROXY": "http://p"})["services"]
    assert [service["name"] for service in services if "HTTP_PROXY" in service["env"]] == ["containerd"]
