"""The list of changes made to the host for one machine, written before each is made, so that every one can be undone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from minikube.host.files import write_durably
from minikube.output.debuglog import debug

Change = dict[str, Any]
Undo = Callable[[Change], None]


class Journal:
    """Changes in the order they were made; `kind` says how to undo one, the other keys say what it was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def changes(self) -> list[Change]:
        try:
            found: list[Change] = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return []
        return found

    def record(self, *planned: Change) -> None:
        """Write down what is about to be changed. Until this returns, nothing may be changed."""
        known = self.changes()
        fresh = [change for change in planned if change not in known]
        if fresh:
            self._write(known + fresh)

    def inherit(self, change: Change) -> None:
        """Take over a change that another machine made and this one needs; it is undone last."""
        self._write([change, *self.changes()])

    def undo(self, undoers: Mapping[str, Undo]) -> list[Change]:
        """Undo everything, last first, and give what was undone. What is already gone counts as undone."""
        remaining = self.changes()
        undone: list[Change] = []
        while remaining:
            change = remaining[-1]
            debug(f"undoing {change}")
            undoers[change["kind"]](change)
            undone.append(remaining.pop())
        if undone:
            self.path.unlink(missing_ok=True)
        return undone

    def _write(self, changes: list[Change]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(self.path, json.dumps(changes, indent=2) + "\n")


def in_words(change: Change) -> str:
    """One change, as a person would say it."""
    sentences = {
        "bridge": "network bridge {name} with the address {address}",
        "firewall": "firewall table {family} {name}: NAT outwards, nothing inwards",
        "cgroup": "control group {path}",
        "sysctl": "kernel setting {name} changed from {before} to {after}",
        "container": "runc container {id}",
    }
    return sentences[change["kind"]].format(**change)
