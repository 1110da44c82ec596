"""`status --layout=cluster`: one object for the whole cluster, with codes, and the step a running command is at."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from minikube import __version__
from minikube.profiles.paths import profile_directory

if TYPE_CHECKING:
    from minikube.cluster.status import NodeStatus

_NAMES = {
    100: "Starting",
    101: "Pausing",
    102: "Unpausing",
    103: "Deleting",
    110: "Stopping",
    200: "OK",
    201: "HAppy",
    203: "Warning",
    204: "Degraded",
    404: "NotFound",
    405: "Stopped",
    418: "Paused",
    500: "Error",
    507: "InsufficientStorage",
    520: "Unknown",
}
_CODES = {name: code for code, name in _NAMES.items()} | {"Running": 200, "Configured": 200, "Misconfigured": 500, "Nonexistent": 404}
_DETAILS = {507: "/var is almost out of disk space"}
_TRANSIENT = {"Initial Minikube Setup": 100, "Stopping": 110, "Deleting": 103, "Pausing": 101, "Unpausing": 102, "Done": 0}
_FRESH_SECONDS = 600  # older events are of a command that ended or died long ago
_NO_STORAGE = 26  # the exit code that means 507 here


def cluster_state(profile: str, statuses: list[NodeStatus]) -> dict[str, Any]:
    first = statuses[0]
    code = 507 if first.Host == "InsufficientStorage" else _code(first.APIServer)
    step, detail, transient = _current_step(profile)
    # A command that failed says nothing against a cluster that runs all the same.
    code = code if transient == 500 and code == 200 else transient or code
    state: dict[str, Any] = {"Name": profile, "StatusCode": code, "StatusName": _NAMES.get(code, "")}
    if code in _DETAILS:
        state["StatusDetail"] = _DETAILS[code]
    if step:
        state |= {"Step": step, "StepDetail": detail}
    state["BinaryVersion"] = f"v{__version__}"
    if first.TimeToStop:
        state["TimeToStop"] = first.TimeToStop
    state["Components"] = {"kubeconfig": _component("kubeconfig", first.Kubeconfig)}
    state["Nodes"] = [_node(node) for node in statuses]
    return state


def _node(node: NodeStatus) -> dict[str, Any]:
    components = {"kubelet": _component("kubelet", node.Kubelet)}
    if node.APIServer != "Irrelevant":
        components["apiserver"] = _component("apiserver", node.APIServer)
    return _component(node.Name, node.Host) | {"Components": components}


def _component(name: str, status: str) -> dict[str, Any]:
    return {"Name": name, "StatusCode": _code(status), "StatusName": _NAMES[_code(status)]}


def _code(status: str) -> int:
    return _CODES.get(status, 520)


def _current_step(profile: str) -> tuple[str, str, int]:
    """Name and message of the last step in events.json, and the code of the state it means, if that is recent."""
    file = profile_directory(profile) / "events.json"
    step, detail, code = "", "", 0
    try:
        if file.stat().st_mtime < time.time() - _FRESH_SECONDS:
            return "", "", 0
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            event = json.loads(line)
            data = event["data"]
            if event["type"] == "io.k8s.sigs.minikube.step":
                step, detail = data["name"].strip(), data["message"].strip()
                code = _TRANSIENT.get(step, code)
            elif event["type"] == "io.k8s.sigs.minikube.error":
                code = 507 if data.get("exitcode") == str(_NO_STORAGE) else 500
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # a line that is being written right now, or no log at all: what was understood so far counts
    return step, detail, code
