"""A new cluster's first pods are those that its controllers would make, and belong to what made them."""

import base64
import json
from pathlib import Path

from minikube.kubernetes.firstpods import api_service, authority_for_pods, taken_addresses, with_first_pods
from minikube.kubernetes.seeding import transactions

MOMENT = "2026-11-16T10:00:00Z"
CONTAINER = {"name": "c", "image": "i", "volumeMounts": [{"mountPath": "/x", "name": "x", "readOnly": False}]}
POD = {
    "containers": [CONTAINER],
    "volumes": [{"name": "x", "hostPath": {"path": "/x"}}],
    "serviceAccountName": "account",
    "priorityClassName": "system-node-critical",
    "tolerations": [{"key": "a", "operator": "Exists"}],
}
TEMPLATE = {"metadata": {"labels": {"app": "one"}}, "spec": POD}
METADATA = {"name": "one", "namespace": "kube-system"}
SELECTOR = {"matchLabels": {"app": "one"}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": METADATA,
    "spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE},
}
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": METADATA, "spec": {"selector": SELECTOR, "template": TEMPLATE}}


def made_from(obj):
    return with_first_pods([obj], node_name="node", moment=MOMENT)


def owner(obj):
    (reference,) = obj["metadata"]["ownerReferences"]
    return reference["kind"], reference["uid"]


def test_a_deployment_comes_with_its_replica_set_and_pod():
    deployment, replica_set, pod = made_from(DEPLOYMENT)
    assert owner(replica_set) == ("Deployment", deployment["metadata"]["uid"])
    assert owner(pod) == ("ReplicaSet", replica_set["metadata"]["uid"])
    assert replica_set["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert pod["metadata"]["name"].startswith(replica_set["metadata"]["name"])
    assert pod["spec"]["nodeName"] == "node"


def test_a_daemon_set_comes_with_its_revision_and_pod():
    daemon_set, revision, pod = made_from(DAEMON_SET)
    assert daemon_set["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}
    assert pod["metadata"]["labels"]["pod-template-generation"] == "1"
    assert owner(revision) == owner(pod) == ("DaemonSet", daemon_set["metadata"]["uid"])
    name = "controller-revision-hash"
    assert pod["metadata"]["labels"][name] == revision["metadata"]["labels"][name]
    complete = revision["data"]["spec"]["template"]["spec"]
    assert complete["restartPolicy"] == "Always"
    assert "readOnly" not in complete["containers"][0]["volumeMounts"][0]


def test_every_pod_has_its_account_and_priority():
    for obj in (DEPLOYMENT, DAEMON_SET):
        pod = made_from(obj)[-1]
        volume = pod["spec"]["volumes"][-1]["name"]
        assert volume in [mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]]
        assert pod["spec"]["priority"] == 2000001000
        assert pod["status"]["phase"] == "Pending"


def test_what_was_given_stays_as_it_is():
    before = json.dumps([DEPLOYMENT, DAEMON_SET], sort_keys=True)
    made_from(DEPLOYMENT)
    made_from(DAEMON_SET)
    assert json.dumps([DEPLOYMENT, DAEMON_SET], sort_keys=True) == before


def test_they_are_where_the_api_server_looks_in_one_transaction(tmp_path: Path) -> None:
    (tmp_path / "seed.json").write_text("[]")
    service = api_service("10.96.0.1", 8443)
    objects = with_first_pods([authority_for_pods(b"pem"), service, *taken_addresses([service])], node_name="n", moment=MOMENT)
    (body,) = map(json.loads, transactions(tmp_path / "seed.json", objects))
    stored = {base64.b64decode(one["requestPut"]["key"]).decode(): one["requestPut"]["value"] for one in body["success"]}
    assert list(stored) == [
        "/registry/configmaps/kube-system/kube-root-ca.crt",
        "/registry/services/specs/default/kubernetes",
        "/registry/ipaddresses/10.96.0.1",
    ]
    kept = json.loads(base64.b64decode(stored["/registry/services/specs/default/kubernetes"]))
    assert kept["spec"]["clusterIPs"] == ["10.96.0.1"]
    assert kept["metadata"]["uid"] and kept["metadata"]["creationTimestamp"]
