"""The containers of pods as `crun` in a node knows them: the one place that also knows which of them are frozen."""

from __future__ import annotations

import json
from typing import NamedTuple

_CRUN = ("crun", "--root", "/run/containerd/runc/k8s.io")
_ANNOTATION = "io.kubernetes.cri"
# crun does not say whose containers they are; each one's bundle does.
_PROGRAM = """
import json, subprocess, sys
listed = json.loads(subprocess.run([*sys.argv[1:], "list", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout or "[]")
for one in listed or []:
    try:
        with open(one["bundle"] + "/config.json", encoding="utf-8") as stream:
            one["annotations"] = json.load(stream).get("annotations")
    except FileNotFoundError:
        pass  # it has just ended
print(json.dumps(listed))
"""
LIST = ("python3", "-I", "-S", "-c", _PROGRAM, *_CRUN)


class Container(NamedTuple):
    id: str
    name: str
    namespace: str
    status: str
    """running, paused, stopped …"""


def read_list(listing: bytes) -> list[Container]:
    """What LIST printed, without the sandboxes that only hold pods together; ValueError if that is no list of containers."""
    found = []
    try:
        for entry in json.loads(listing) or []:
            notes = entry.get("annotations") or {}
            if notes.get(f"{_ANNOTATION}.container-type") == "container":
                name, namespace = notes.get(f"{_ANNOTATION}.container-name", ""), notes.get(f"{_ANNOTATION}.sandbox-namespace", "")
                found.append(Container(*map(str, (entry["id"], name, namespace, entry["status"]))))
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a list of containers: {error!r:.200}") from error
    return found


def each(verb: str, ids: list[str]) -> list[str]:
    """The command that pauses or resumes these containers, ending with the first that refuses."""
    script = f'for id do {" ".join(_CRUN)} {verb} "$id" || exit; done'
    return ["/bin/sh", "-c", script, "sh", *ids]
