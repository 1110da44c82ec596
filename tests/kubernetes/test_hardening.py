"""What `start --hardened` configures."""

from typing import Any

import pytest
import yaml

from minikube.kubernetes import hardening, kubeadm, secretsatrest
from minikube.kubernetes.api import KINDS
from minikube.kubernetes.apiserverfiles import apiserver_files
from minikube.kubernetes.clusterspec import APISERVER_DIRECTORY, ClusterSpec
from minikube.kubernetes.extraconfig import parse_extra_config
from minikube.kubernetes.kubelet import STRONG_CIPHERS, kubelet_command, kubelet_configuration, kubelet_service
from minikube.output.reason import Reason

PINNED = ("v1.37.1", "v1.36.4", "v1.34.10")


def spec_of(version: str = "v1.37.1", *options: str, hardened: bool = True, secrets_key: bool = True) -> ClusterSpec:
    return ClusterSpec(
        version=version,
        node_name="dev",
        node_ip="10.5.0.2",
        hardened=hardened,
        secrets_key=secrets_key,
        extra_options=parse_extra_config(options),
    )


def arguments(spec: ClusterSpec, component: str = "apiServer") -> dict[str, str]:
    given = kubeadm.cluster_configuration(spec)[component]["extraArgs"]
    return given if isinstance(given, dict) else {one["name"]: one["value"] for one in given}


@pytest.mark.parametrize("version", PINNED)
@pytest.mark.parametrize("hardened", [False, True])
def test_every_file_that_the_api_server_is_told_of_is_in_its_pod(version: str, hardened: bool) -> None:
    spec = spec_of(version, hardened=hardened, secrets_key=hardened)
    files = apiserver_files(spec, key=None)
    named = {value for value in arguments(spec).values() if value.startswith(APISERVER_DIRECTORY)}
    assert named == set(files) - {secretsatrest.KEY_FILE}
    mounted = {volume["mountPath"] for volume in kubeadm.cluster_configuration(spec)["apiServer"]["extraVolumes"]}
    assert mounted == {APISERVER_DIRECTORY, "/var/log/kubernetes"}


@pytest.mark.parametrize("version", PINNED)
def test_a_default_cluster_has_what_costs_nothing(version: str) -> None:
    spec = spec_of(version, hardened=False, secrets_key=False)
    assert {"audit-log-path", "audit-policy-file", "tls-cipher-suites"} <= arguments(spec).keys()
    assert not {"authentication-config", "encryption-provider-config", "admission-control-config-file"} & arguments(spec).keys()
    assert kubelet_configuration(spec)["tlsCipherSuites"] == list(STRONG_CIPHERS)
    assert "terminated-pod-gc-threshold" in arguments(spec, "controllerManager")


@pytest.mark.parametrize("version", PINNED)
def test_anonymous_requests_are_for_health_checks_only(version: str) -> None:
    spec = spec_of(version)
    document = yaml.safe_load(apiserver_files(spec, key=None)[arguments(spec)["authentication-config"]])
    assert document["anonymous"] == {"enabled": True, "conditions": [{"path": "/livez"}, {"path": "/readyz"}, {"path": "/healthz"}]}
    assert "anonymous-auth" not in arguments(spec)  # which the API server refuses beside the file
    probes = [
        probe["httpGet"]["path"].partition("?")[0]
        for text in kubeadm.static_pod_patches(spec).values()
        for probe in yaml.safe_load(text)["spec"]["containers"][0].values()
        if isinstance(probe, dict) and "path" in probe.get("httpGet", {}) and probe["httpGet"].get("port") is None
    ]
    assert set(probes) <= set(hardening.HEALTH_PATHS)
    assert probes


def test_pods_keep_to_the_baseline_but_those_of_kube_system() -> None:
    plugins = {plugin["name"]: plugin["configuration"] for plugin in hardening.admission()["plugins"]}
    assert plugins["PodSecurity"]["defaults"]["enforce"] == "baseline"
    assert plugins["PodSecurity"]["exemptions"] == {"namespaces": ["kube-system"]}
    enabled = arguments(spec_of())["enable-admission-plugins"].split(",")
    assert {"NodeRestriction", "EventRateLimit", "DenyServiceExternalIPs"} <= set(enabled)


def test_extra_config_wins() -> None:
    spec = spec_of("v1.37.1", "apiserver.tls-min-version=VersionTLS12", "apiserver.anonymous-auth=true", "etcd.tls-min-version=TLS1.2")
    assert arguments(spec)["tls-min-version"] == "VersionTLS12"
    assert arguments(spec)["anonymous-auth"] == "true"
    assert "authentication-config" not in arguments(spec)


@pytest.mark.parametrize(
    ("minor", "options", "words"), [(31, [], "needs Kubernetes v1.32"), (37, ["v", "oidc-issuer-url"], "apiserver.oidc-issuer-url")]
)
def test_what_cannot_be_hardened_is_refused(minor: int, options: list[str], words: str) -> None:
    with pytest.raises(Reason) as refused:
        hardening.check(minor, options)
    assert refused.value.id == "MK_USAGE"
    assert words in refused.value.message


def test_every_version_that_can_be_hardened_gets_a_form_it_reads() -> None:
    hardening.check(32, ["v"])
    assert [hardening.authentication(spec_of(f"v1.{minor}.0"))["apiVersion"] for minor in (32, 33, 34)] == [
        "apiserver.config.k8s.io/v1beta1",
        "apiserver.config.k8s.io/v1beta1",
        "apiserver.config.k8s.io/v1",
    ]


def test_kube_system_is_closed_but_for_dns_and_metrics() -> None:
    policies: dict[str, dict[str, Any]] = {obj["metadata"]["name"]: obj["spec"] for obj in hardening.network_policies()}
    assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert {"protocol": "UDP", "port": 53} in policies["allow-dns"]["ingress"][0]["ports"]
    assert all(obj["kind"] in KINDS and obj["metadata"]["namespace"] == "kube-system" for obj in hardening.network_policies())


def test_kube_systems_default_account_has_no_rights_in_a_hardened_cluster() -> None:
    kinds = [[obj["kind"] for obj in hardening.objects(spec_of(hardened=hardened))] for hardened in (False, True)]
    assert kinds == [["ClusterRoleBinding"], ["NetworkPolicy"] * 3]


def test_the_kubelets_command_is_where_tools_look_for_it() -> None:
    spec = spec_of("v1.37.1", "kubelet.max-pods=50")
    assert f"\nExecStart={' '.join(kubelet_command(spec))}\n" in kubelet_service(spec)
