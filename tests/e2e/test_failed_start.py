"""A start that fails says why, in the words of whoever failed."""

from __future__ import annotations

import json
from pathlib import Path

from support.minikube import Minikube, Place
from support.nodeimage import fresh_name


def test_the_cause_is_found_in_the_nodes_logs(place: Place, node_image: Path) -> None:
    cluster = Minikube(place, fresh_name())
    try:
        failed = cluster.run("start", "--extra-config=kubelet.no-such-flag=1", "--wait-timeout=8s", "-o", "json")
        event = json.loads(failed.stdout.splitlines()[-1])["data"]
        assert (failed.code, event["name"], event["exitcode"]) == (108, "K8S_UNKNOWN_FLAG", "108")
        assert "unknown flag: --no-such-flag" in event["message"]
        assert "--extra-config" in event["advice"]
    finally:
        cluster.ok("delete")
