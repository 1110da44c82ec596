"""The containers of pods as `runc` in a node knows them: the one place that also knows which of them are frozen."""

from __future__ import annotations

import json
from typing import NamedTuple

_RUNC = ("runc", "--root", "/run/containerd/runc/k8s.io")
_ANNOTATION = "io.kubernetes.cri"
LIST = (*_RUNC, "list", "--format", "json")


class Container(NamedTuple):
    id: str
    name: str
    namespace: str
    status: str
    """running, paused, stopped …"""


def read_list(listing: bytes) -> list[Container]:
    """What LIST printed, without the sandboxes that only hold pods together."""
    found = []
    for entry in json.loads(listing) or []:
        notes = entry.get("annotations") or {}
        if notes.get(f"{_ANNOTATION}.container-type") == "container":
            name, namespace = notes.get(f"{_ANNOTATION}.container-name", ""), notes.get(f"{_ANNOTATION}.sandbox-namespace", "")
            found.append(Container(entry["id"], name, namespace, entry["status"]))
    return found


def each(verb: str, ids: list[str]) -> list[str]:
    """The command that pauses or resumes these containers, ending with the first that refuses."""
    script = f'for id do {" ".join(_RUNC)} {verb} "$id" || exit; done'
    return ["/bin/sh", "-c", script, "sh", *ids]
