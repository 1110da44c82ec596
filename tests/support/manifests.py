"""The objects that tests put into a cluster."""

from __future__ import annotations

from typing import Any

from support.testimages import BUSYBOX, HTTP

Object = dict[str, Any]


def pod(name: str, script: str = "sleep 3600", *, claim: str = "", restart: str = "Always") -> Object:
    """A busybox that runs a script; with `claim`, that volume is at /data."""
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script]}
    # A shell as pid 1 does not hear SIGTERM: without this every deletion would take half a minute.
    spec: Object = {"containers": [container], "restartPolicy": restart, "terminationGracePeriodSeconds": 0}
    if claim:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claim(name: str) -> Object:
    """A volume of the default StorageClass."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def job(name: str, script: str) -> Object:
    template = {"spec": pod(name, script, restart="Never")["spec"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}}


def web(name: str) -> list[Object]:
    """An HTTP server that answers with its pod's name, and a service in front of it that is also a port of the node."""
    labels = {"app": name}
    ready = {"httpGet": {"port": 8080, "path": "/"}, "periodSeconds": 1}
    container = {"name": "http", "image": HTTP, "ports": [{"containerPort": 8080}], "readinessProbe": ready}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}
    deployment = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    service = {"type": "NodePort", "selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": deployment},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service},
    ]
