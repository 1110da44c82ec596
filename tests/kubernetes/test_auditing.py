"""Which requests the audit log records. Rules are tried in the API server's way: the first that fits decides."""

import pytest

from minikube.kubernetes import auditing
from minikube.kubernetes.clusterspec import ClusterSpec

DEFAULT, HARDENED = (ClusterSpec(version="v1.37.1", node_name="dev", node_ip="10.5.0.2", hardened=on) for on in (False, True))


def level(spec: ClusterSpec, verb: str, resource: str, *, group: str = "", by: str = "system:authenticated") -> str:
    for rule in auditing.policy(spec)["rules"]:
        kinds = rule.get("resources")
        if kinds is not None and not any(one["group"] == group and resource in one.get("resources", [resource]) for one in kinds):
            continue
        if verb in rule.get("verbs", [verb]) and by in rule.get("userGroups", [by]):
            return rule["level"]
    return "None"


@pytest.mark.parametrize("spec", [DEFAULT, HARDENED])
def test_an_idle_cluster_writes_nothing(spec: ClusterSpec) -> None:
    assert level(spec, "update", "leases", group="coordination.k8s.io") == "None"
    assert level(spec, "create", "events") == level(spec, "patch", "events", group="events.k8s.io") == "None"
    assert level(spec, "patch", "nodes/status", by="system:nodes") == "None"
    assert level(spec, "watch", "pods") == level(spec, "list", "configmaps") == "None"


@pytest.mark.parametrize("spec", [DEFAULT, HARDENED])
@pytest.mark.parametrize(
    ("verb", "resource"), [("create", "pods"), ("delete", "secrets"), ("get", "pods/exec"), ("create", "pods/exec"), ("get", "nodes/proxy")]
)
def test_changes_and_commands_in_pods_are_recorded(spec: ClusterSpec, verb: str, resource: str) -> None:
    assert level(spec, verb, resource) == "Metadata"


def test_a_hardened_cluster_records_more() -> None:
    assert [level(spec, "get", "secrets") for spec in (DEFAULT, HARDENED)] == ["None", "Metadata"]
    reviews = [level(spec, "create", "tokenreviews", group="authentication.k8s.io") for spec in (DEFAULT, HARDENED)]
    assert reviews == ["None", "Metadata"]
    roles = [level(spec, "create", "clusterroles", group="rbac.authorization.k8s.io") for spec in (DEFAULT, HARDENED)]
    assert roles == ["Metadata", "Request"]


def test_no_content_of_a_secret_is_ever_recorded() -> None:
    """Only `Metadata` leaves the body out."""
    verbs = ("get", "list", "create", "update", "patch")
    assert {level(spec, verb, "secrets") for spec in (DEFAULT, HARDENED) for verb in verbs} == {"None", "Metadata"}


def test_the_log_is_bounded() -> None:
    assert {"audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"} <= auditing.ARGUMENTS.keys()
    assert all(int(auditing.ARGUMENTS[f"audit-log-max{what}"]) > 0 for what in ("age", "backup", "size"))
