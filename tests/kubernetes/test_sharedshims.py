"""Which shim a pod of the cluster's own belongs to."""

from __future__ import annotations

import yaml

from minikube.addons.storage import storage_class_objects, storage_provisioner_objects
from minikube.kubernetes import kubeadm
from minikube.kubernetes.clusterspec import ClusterSpec
from minikube.kubernetes.coredns import coredns_objects
from minikube.kubernetes.kubeproxy import kube_proxy_objects
from minikube.kubernetes.sharedshims import ANNOTATION, in_groups

SPEC = ClusterSpec(version="v1.37.1", node_name="dev", node_ip="10.5.0.2")
OBJECTS = [
    *kube_proxy_objects(SPEC, image="proxy"),
    *coredns_objects(SPEC, image="dns", host_ip="10.5.0.1"),
    *storage_class_objects(),
    *storage_provisioner_objects(),
]


def test_there_are_two_for_all_of_them():
    patches = [yaml.safe_load(text)["metadata"] for text in kubeadm.static_pod_patches(SPEC).values()]
    grouped = [in_groups(obj) for obj in OBJECTS]
    templates = [obj["spec"]["template"]["metadata"] for obj in grouped if "template" in obj.get("spec", {})]
    groups = [metadata["annotations"][ANNOTATION] for metadata in (*patches, *templates)]
    assert (len(groups), len(set(groups))) == (7, 2)


def test_etcd_and_the_api_server_do_not_wait_for_each_other():
    patches = kubeadm.static_pod_patches(SPEC)
    first, second = (yaml.safe_load(patches[f"{name}0+strategic.yaml"])["metadata"]["annotations"] for name in ("etcd", "kube-apiserver"))
    assert first != second


def test_nothing_else_of_an_object_changes():
    for obj in OBJECTS:
        grouped = in_groups(obj)
        template = grouped["spec"]["template"] if "template" in obj.get("spec", {}) else grouped
        template["metadata"].get("annotations", {}).pop(ANNOTATION, None)
        if not template["metadata"].get("annotations", True):
            del template["metadata"]["annotations"]
        assert grouped == obj
