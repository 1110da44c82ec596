"""What `start` promises: real Kubernetes, complete and ready, when the command ends."""

from __future__ import annotations

import json

from e2e.conftest import Cluster, not_ready

VERSION = "v1.37.1"
SYSTEM_PODS = {"coredns", "etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "storage-provisioner"}

_KUBELET = "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = kubelet ] && stat -c '%n %Y' $p; done; true"


def test_every_system_pod_is_ready_when_start_ends(bare_cluster: Cluster) -> None:
    names = {pod["metadata"]["name"] for pod in bare_cluster.first_pods}
    assert {wanted for wanted in SYSTEM_PODS if any(name.startswith(wanted) for name in names)} == SYSTEM_PODS
    assert not_ready(bare_cluster.first_pods) == []


def test_nothing_restarted_on_the_way(bare_cluster: Cluster) -> None:
    restarts = {
        pod["metadata"]["name"]: status["restartCount"] for pod in bare_cluster.first_pods for status in pod["status"]["containerStatuses"]
    }
    assert set(restarts.values()) == {0}, restarts


def test_controllers_agree_with_the_pods_that_came_first(bare_cluster: Cluster) -> None:
    """They were there before any controller ran. One that disagrees makes a second revision, and another pod."""
    for kind, count in (("controllerrevisions", 1), ("replicasets", 2)):
        assert len(bare_cluster.get(kind, "-n", "kube-system")["items"]) == count, kind
    ours = ("coredns", "kube-proxy", "storage-provisioner")
    uids = {pod["metadata"]["uid"] for pod in bare_cluster.first_pods if pod["metadata"]["name"].startswith(ours)}
    assert uids <= {pod["metadata"]["uid"] for pod in bare_cluster.get("pods", "-n", "kube-system")["items"]}
    assert bare_cluster.get("deployment", "coredns", "-n", "kube-system")["status"]["readyReplicas"] == 1
    assert bare_cluster.get("daemonset", "kube-proxy", "-n", "kube-system")["status"]["updatedNumberScheduled"] == 1


def test_the_context_is_current(bare_cluster: Cluster) -> None:
    assert bare_cluster.first_context == bare_cluster.profile


def test_one_version_everywhere(bare_cluster: Cluster) -> None:
    versions = json.loads(bare_cluster.kubectl("version", "-o", "json"))
    assert versions["clientVersion"]["gitVersion"] == VERSION
    assert versions["serverVersion"]["gitVersion"] == VERSION
    node = bare_cluster.get("node", bare_cluster.profile)
    assert node["status"]["nodeInfo"]["kubeletVersion"] == VERSION
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://2.")
    images = {
        container["image"] for pod in bare_cluster.get("pods", "-n", "kube-system")["items"] for container in pod["spec"]["containers"]
    }
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
    assert {f"registry.k8s.io/{name}:{VERSION}" for name in names} <= images


def test_kube_proxy_works_through_nftables(bare_cluster: Cluster) -> None:
    assert "mode: nftables" in bare_cluster.kubectl("-n", "kube-system", "get", "configmap", "kube-proxy", "-o", "yaml")
    assert "table ip kube-proxy" in bare_cluster.ssh("nft list tables")


def test_the_node_carries_minikubes_labels(bare_cluster: Cluster) -> None:
    labels = bare_cluster.get("node", bare_cluster.profile)["metadata"]["labels"]
    assert labels["minikube.k8s.io/name"] == bare_cluster.profile
    assert labels["minikube.k8s.io/primary"] == "true"
    assert labels["minikube.k8s.io/version"].startswith("v")
    assert {"minikube.k8s.io/updated_at", "minikube.k8s.io/commit", "node-role.kubernetes.io/control-plane"} <= labels.keys()


def test_kubeadm_knows_the_cluster(bare_cluster: Cluster) -> None:
    """What `kubeadm join` and `kubeadm upgrade` would look for."""
    configuration = bare_cluster.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "yaml")
    assert f"kubernetesVersion: {VERSION}" in configuration
    bare_cluster.kubectl("-n", "kube-public", "get", "configmap", "cluster-info")
    bare_cluster.kubectl("-n", "kube-system", "get", "configmap", "kubelet-config")


def test_there_is_one_default_storage_class(bare_cluster: Cluster) -> None:
    (only,) = bare_cluster.get("storageclass")["items"]
    assert only["metadata"]["name"] == "standard"
    assert only["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
    assert only["volumeBindingMode"] == "Immediate"


def test_the_host_is_out_of_sight_in_the_node(bare_cluster: Cluster) -> None:
    assert bare_cluster.ssh(f"test -e {bare_cluster.place.directory} && echo seen || echo hidden").strip() == "hidden"
    assert bare_cluster.ssh("hostname").strip() == bare_cluster.profile


def test_start_of_a_running_cluster_changes_nothing(bare_cluster: Cluster) -> None:
    def running() -> tuple[str, str]:
        return bare_cluster.ssh("crictl ps -q | sort"), bare_cluster.ssh(_KUBELET)

    before = running()
    assert bare_cluster.run("start", timeout=300).code == 0
    assert running() == before
    assert bare_cluster.kubectl("config", "current-context", "--context=").strip() == bare_cluster.profile
