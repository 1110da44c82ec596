"""The list of changes made to the host for one machine, written before each is made, so that every one can be undone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from minikube.host.files import write_durably
from minikube.host.moments import moment
from minikube.output.debuglog import debug

Change = dict[str, Any]
Undo = Callable[[Change], None]

_SENTENCES = {
    "bridge": "network bridge {name} with the address {address}",
    "firewall": "firewall table {name} ({family}): NAT outwards, nothing inwards",
    "cgroup": "control group {path}",
    "unit": "systemd unit {name}, whose control group is the node's",
    "sysctl": "kernel setting {name} changed from {before} to {after}",
    "relay": "process that asks this host's name servers ({servers}) for the node",
    "podmounts": "process that gives mounts of pods in user namespaces their owners",
    "container": "runc container {id}",
}


class Journal:
    """Changes in the order they were made; `kind` says how to undo one, the other keys say what it was."""

    def __init__(self, path: Path, *, ours: Callable[[object], bool] | None = None) -> None:
        self.path = path
        self._ours = ours or well_formed

    def changes(self) -> list[Change]:
        """All that `ours` knows as changes of this machine; others are no business of it, and never undone.

        A damaged file counts as a lost one: what is on the host under our names can be found without it.
        """
        try:
            found = json.loads(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
            return []
        entries = found if isinstance(found, list) else []
        strange = [entry for entry in entries if not self._ours(entry)]
        if strange:
            debug(f"{self.path}: left out, for they are no changes of this machine: {strange}")
        return [entry for entry in entries if entry not in strange]

    def record(self, *planned: Change) -> None:
        """Write down what is about to be changed. Until this returns, nothing may be changed."""
        known = self.changes()
        fresh = [change for change in planned if change not in known]
        if fresh:
            self._write(known + fresh)

    def inherit(self, change: Change) -> None:
        """Take over a change that another machine made and this one needs; it is undone last."""
        known = self.changes()
        if change not in known:
            self._write([change, *known])

    def undo(self, undoers: Mapping[str, Undo]) -> list[Change]:
        """Undo everything, last first, and give what was undone. What is already gone counts as undone."""
        remaining = self.changes()
        undone: list[Change] = []
        while remaining:
            change = remaining[-1]
            debug(f"undoing {change}")
            with moment(f"undo {change['kind']}"):
                undoers[change["kind"]](change)
            undone.append(remaining.pop())
        if undone:
            self.path.unlink(missing_ok=True)
        return undone

    def _write(self, changes: list[Change]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(self.path, json.dumps(changes, indent=2) + "\n")


def well_formed(change: object) -> bool:
    """Whether it is of a known kind, and says in texts what it was."""
    if not isinstance(change, dict) or not isinstance(change.get("kind"), str) or change["kind"] not in _SENTENCES:
        return False
    names = [name for _, name, _, _ in Formatter().parse(_SENTENCES[change["kind"]]) if name]
    return all(isinstance(change.get(name), str) for name in names)


def in_words(change: Change) -> str:
    """One change, as a person would say it."""
    return _SENTENCES[change["kind"]].format(**change)
