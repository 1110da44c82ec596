"""What a program reads of `-o json`: every line is an event with upstream's envelope, and steps have their numbers."""

from __future__ import annotations

import json
import re

from support.minikube import Answer

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_FIELDS = {
    "step": {"currentstep", "message", "name", "totalsteps"},
    "info": {"message"},
    "warning": {"message"},
    "error": {"advice", "exitcode", "issues", "message", "name", "url"},
    "download": {"artifact", "currentstep", "totalsteps"},
    "download.progress": {"artifact", "currentstep", "progress", "totalsteps"},
}


def events(answer: Answer) -> list[tuple[str, dict[str, str]]]:
    """Kind and data of every line a command wrote, once each has been found to be an event."""
    assert answer.stderr == "", answer
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    assert len({event["id"] for event in found}) == len(found)
    told = []
    for event in found:
        assert list(event) == ["specversion", "id", "source", "type", "datacontenttype", "data"]
        assert _UUID.fullmatch(event["id"])
        assert (event["specversion"], event["source"]) == ("1.0", "https://minikube.sigs.k8s.io/")
        assert event["datacontenttype"] == "application/json"
        kind = event["type"].removeprefix("io.k8s.sigs.minikube.")
        assert set(event["data"]) == _FIELDS[kind], event
        assert all(isinstance(value, str) for value in event["data"].values()), event
        told.append((kind, event["data"]))
    return told


def steps(answer: Answer) -> list[dict[str, str]]:
    """The steps of a command that succeeded."""
    assert answer.code == 0, answer
    return [data for kind, data in events(answer) if kind == "step"]


def numbered(told: list[dict[str, str]]) -> list[str]:
    """`3/19 Starting Node`, for each."""
    return [f"{step['currentstep']}/{step['totalsteps']} {step['name']}" for step in told]
