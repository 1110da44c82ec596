"""The pods a new cluster starts with, bound to its node, as the controllers, the scheduler and admission would have made them.

They are in the database before the API server runs, so that the kubelet starts them the moment it answers. Else they wait for the
controller manager, for its controllers one after the other, and for the scheduler, all of which have to start themselves. What is here is
what those would find after a restart: nothing to do. A revision that is not what they expect costs a second pod, never a wrong one.
"""

from __future__ import annotations

import copy
import hashlib
import json
import secrets
import uuid
from typing import Any

Object = dict[str, Any]

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # what Kubernetes makes such names of: no vowels, no words
_PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"


def with_first_pods(objects: list[Object], *, node_name: str, moment: str) -> list[Object]:
    """The objects, each with an identity, and behind each that has pods what its controller would have made for it on this node."""
    made: list[Object] = []
    for given in objects:
        obj = _identified(given)
        if obj["kind"] == "Deployment":
            obj = _annotated(obj, "deployment.kubernetes.io/revision", "1")
            made += [obj, replica_set := _replica_set(obj), _pod_of_replica_set(replica_set, node_name, moment)]
        elif obj["kind"] == "DaemonSet":
            # Counted from here: a change of the template must not look like the generation that the first pod is of.
            obj = _annotated(obj, "deprecated.daemonset.template.generation", "1")
            made += [obj, revision := _revision(obj), _pod_of_daemon_set(obj, revision, node_name, moment)]
        elif obj["kind"] == "Service":
            made.append(obj | {"spec": _addressed(obj["spec"])})
        else:
            made.append(obj)
    return made


def authority_for_pods(certificate: bytes) -> Object:
    """What every service account's volume needs; the controller manager would publish it."""
    metadata = {"name": "kube-root-ca.crt", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": certificate.decode()}}


def api_service(address: str, port: int) -> Object:
    """The API's own service, which the API server would make: the kubelet tells the first pods where it is."""
    labels = {"component": "apiserver", "provider": "kubernetes"}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {"clusterIP": address, "ports": ports},
    }


def taken_addresses(objects: list[Object]) -> list[Object]:
    """What the API server keeps, from 1.33 on, for every service address that is taken."""
    family = {"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {"name": obj["spec"]["clusterIP"], "labels": family},
            "spec": {"parentRef": {"group": "", "resource": "services", **{key: obj["metadata"][key] for key in ("namespace", "name")}}},
        }
        for obj in objects
        if obj["kind"] == "Service"
    ]


def _replica_set(deployment: Object) -> Object:
    spec, name = deployment["spec"], deployment["metadata"]["name"]
    label = {"pod-template-hash": _hash(spec["template"], 10)}
    labels = spec["template"]["metadata"]["labels"] | label
    counts = {"desired-replicas": str(spec["replicas"]), "max-replicas": str(spec["replicas"] + 1), "revision": "1"}
    return _identified(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": _owned(deployment, f"{name}-{label['pod-template-hash']}", labels)
            | {"annotations": {f"deployment.kubernetes.io/{key}": value for key, value in counts.items()}},
            "spec": {
                "replicas": spec["replicas"],
                "selector": {"matchLabels": spec["selector"]["matchLabels"] | label},
                "template": spec["template"] | {"metadata": spec["template"]["metadata"] | {"labels": labels}},
            },
        }
    )


def _pod_of_replica_set(replica_set: Object, node_name: str, moment: str) -> Object:
    template, name = replica_set["spec"]["template"], replica_set["metadata"]["name"]
    return _pod(replica_set, name, template["metadata"]) | _running(template["spec"], node_name, moment)


def _revision(daemon_set: Object) -> Object:
    template, name = daemon_set["spec"]["template"], daemon_set["metadata"]["name"]
    label = {"controller-revision-hash": _hash(template, 10)}
    return _identified(
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": _owned(daemon_set, f"{name}-{label['controller-revision-hash']}", template["metadata"]["labels"] | label),
            "data": {"spec": {"template": template | {"spec": _complete(template["spec"]), "$patch": "replace"}}},
            "revision": 1,
        }
    )


def _complete(given: Object) -> Object:
    """A pod's spec with every default filled in: the controller compares a revision with its template byte by byte."""
    spec = copy.deepcopy(given)
    for container in spec["containers"]:
        container |= {"resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
        for variable in container.get("env", ()):
            variable["valueFrom"]["fieldRef"].setdefault("apiVersion", "v1")
        for mount in container["volumeMounts"]:
            if not mount.get("readOnly"):
                mount.pop("readOnly", None)
    for volume in spec["volumes"]:
        if "configMap" in volume:
            volume["configMap"]["defaultMode"] = 420
        elif "hostPath" in volume:
            volume["hostPath"].setdefault("type", "")
    defaults = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {}}
    return defaults | {"serviceAccount": spec["serviceAccountName"], "terminationGracePeriodSeconds": 30} | spec


def _addressed(spec: Object) -> Object:
    alone = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"}
    return {"clusterIPs": [spec["clusterIP"]], "sessionAffinity": "None", "type": "ClusterIP"} | alone | spec


def _pod_of_daemon_set(daemon_set: Object, revision: Object, node_name: str, moment: str) -> Object:
    template = daemon_set["spec"]["template"]
    metadata = template["metadata"] | {"labels": revision["metadata"]["labels"] | {"pod-template-generation": "1"}}
    pod = _pod(daemon_set, daemon_set["metadata"]["name"], metadata) | _running(template["spec"], node_name, moment)
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    }
    evicting = [_exists(f"node.kubernetes.io/{why}", "NoExecute") for why in ("not-ready", "unreachable")]
    pressed = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable", "network-unavailable")
    pod["spec"]["tolerations"] = [
        *template["spec"]["tolerations"],
        *evicting,
        *(_exists(f"node.kubernetes.io/{why}", "NoSchedule") for why in pressed),
    ]
    return pod


def _pod(owner: Object, prefix: str, template: Object) -> Object:
    """With the labels and annotations of the template's metadata."""
    metadata = template | _owned(owner, f"{prefix}-{_letters(5)}", template["labels"]) | {"generateName": f"{prefix}-"}
    return _identified({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def _running(given: Object, node_name: str, moment: str) -> Object:
    """A pod's spec after admission and scheduling, and the status it has then."""
    spec = copy.deepcopy(given)
    volume = f"kube-api-access-{_letters(5)}"
    for container in spec["containers"]:
        container.setdefault("volumeMounts", []).append({"mountPath": _ACCOUNT_DIRECTORY, "name": volume, "readOnly": True})
    spec.setdefault("volumes", []).append({"name": volume, "projected": _account_files()})
    tolerated = {toleration.get("key", "") for toleration in spec["tolerations"] if toleration.get("effect", "NoExecute") == "NoExecute"}
    spec["tolerations"] += [
        _exists(key, "NoExecute") | {"tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if not tolerated & {key, ""}
    ]
    spec |= {
        "nodeName": node_name,
        "serviceAccount": spec["serviceAccountName"],
        "priority": _PRIORITIES[spec["priorityClassName"]],
        "preemptionPolicy": "PreemptLowerPriority",
    }
    requests = any(container.get("resources", {}).get("requests") for container in spec["containers"])
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
    status = {"phase": "Pending", "conditions": [scheduled], "qosClass": "Burstable" if requests else "BestEffort"}
    return {"spec": spec, "status": status}


def _account_files() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"defaultMode": 420, "sources": sources}


def _identified(obj: Object) -> Object:
    return obj | {"metadata": obj["metadata"] | {"uid": str(uuid.uuid4())}}


def _annotated(obj: Object, key: str, value: str) -> Object:
    return obj | {"metadata": obj["metadata"] | {"annotations": obj["metadata"].get("annotations", {}) | {key: value}}}


def _owned(owner: Object, name: str, labels: dict[str, str]) -> Object:
    theirs = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": theirs["name"], "uid": theirs["uid"]}
    reference |= {"blockOwnerDeletion": True, "controller": True}
    return {"name": name, "namespace": theirs["namespace"], "labels": labels, "ownerReferences": [reference]}


def _exists(key: str, effect: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": effect}


def _hash(content: Object, length: int) -> str:
    number = int.from_bytes(hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest(), "big")
    return "".join(_ALPHABET[number // len(_ALPHABET) ** place % len(_ALPHABET)] for place in range(length))


def _letters(count: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(count))
