"""Certificates that live for minutes: renewed while the cluster runs, and at the next start."""

from __future__ import annotations

import time

import pytest
from support.nodeimage import fresh_name
from support.waiting import eventually

from faults.patient import Patient
from faults.table import TABLE

LIFETIME = 150


@pytest.mark.long
def test_a_cluster_outlives_its_certificates(patient: Patient) -> None:
    mayfly = Patient(patient.place, fresh_name(), patient.image)
    with TABLE.run(f"certificates of {LIFETIME} seconds, cluster left alone"):
        mayfly.start(f"--cert-expiration={LIFETIME}s")
        mayfly.write_word()
        began = mayfly.ssh("cat /var/lib/minikube/certs/apiserver.crt | sha256sum")
        time.sleep(LIFETIME + 30)
        # Everything it started with has expired: what the node needs was renewed in it, the user's own certificate by this start.
        mayfly.start()
        assert mayfly.ssh("cat /var/lib/minikube/certs/apiserver.crt | sha256sum") != began
        assert mayfly.run("status").code == 0
        mayfly.kubectl("create", "deployment", "fresh", "--image=registry.k8s.io/pause:3.10.2")
        # The scheduler, the controller manager and the kubelet all have to be believed for this.
        eventually(lambda: "fresh" in mayfly.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}"), seconds=60)
        mayfly.kubectl("rollout", "status", "deployment/fresh", "--timeout=90s")
        # The API server closes its connections to the kubelet when it has a new certificate for them: the next try succeeds.
        eventually(lambda: mayfly.run("kubectl", "--", "-n", "kube-system", "logs", "deployment/coredns", "--tail=1").code == 0)
        assert "renewed" in mayfly.ssh("cat /var/log/minikube/renewal.log")
        assert mayfly.lost() == []
        mayfly.ok("delete")
