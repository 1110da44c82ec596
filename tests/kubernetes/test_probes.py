"""A pod's word counts once the kubelet has heard it. Real counts are asked for by every start in e2e."""

from minikube.kubernetes.api import ApiError
from minikube.kubernetes.probes import unasked

COUNTS = """# HELP prober_probe_total [BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.
# TYPE prober_probe_total counter
prober_probe_total{container="etcd",namespace="kube-system",pod="etcd-one",pod_uid="1",probe_type="Liveness",result="successful"} 3
prober_probe_total{container="etcd",namespace="kube-system",pod="etcd-one",pod_uid="1",probe_type="Readiness",result="failed"} 1
prober_probe_total{container="coredns",namespace="kube-system",pod="coredns-x",pod_uid="2",probe_type="Readiness",result="successful"} 2
prober_probe_duration_seconds_count{container="etcd",namespace="kube-system",pod="etcd-one",probe_type="Readiness"} 1
"""


class Kubelet:
    """What it answers through the API server."""

    def __init__(self, counts: str) -> None:
        self.counts = counts

    def text(self, path: str) -> str:
        assert path == "/api/v1/nodes/one/proxy/metrics/probes"
        if not self.counts:
            raise ApiError(403, "Forbidden", "no")
        return self.counts


def pod(name: str, container: str, *, probed: bool = True) -> dict:
    spec = {"containers": [{"name": container, **({"readinessProbe": {"periodSeconds": 1}} if probed else {})}]}
    return {"metadata": {"name": name, "namespace": "kube-system"}, "spec": spec}


DNS, DATABASE, PROXY = pod("coredns-x", "coredns"), pod("etcd-one", "etcd"), pod("kube-proxy-y", "kube-proxy", probed=False)


def test_who_has_given_a_good_answer_counts():
    assert unasked(Kubelet(COUNTS), "one", [DNS, PROXY]) == ""
    assert unasked(Kubelet(COUNTS), "one", [DNS, DATABASE]) == "pod etcd-one: the kubelet has not heard yet that etcd is ready"
    later = COUNTS.replace('"etcd-one",pod_uid="1",probe_type="Liveness"', '"etcd-one",pod_uid="1",probe_type="Readiness"')
    assert unasked(Kubelet(later), "one", [DNS, DATABASE]) == ""


def test_a_kubelet_that_does_not_say_is_believed():
    assert unasked(Kubelet(""), "one", [DNS, DATABASE]) == ""
