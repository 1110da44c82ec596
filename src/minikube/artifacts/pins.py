"""Checksums as they were when something was used first: whoever changes a published file or tag later is found out."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

from minikube.host.files import read_record, write_durably
from minikube.output.reason import Reason


class Pins:
    """A file in the store, shared by every process."""

    def __init__(self, store: Path) -> None:
        self.file = store / "pins.json"

    def known(self, name: str) -> str:
        """The recorded digest, or nothing."""
        return self._read().get(name, "")

    def all(self) -> dict[str, str]:
        """Every name with its digest."""
        return dict(sorted(self._read().items()))

    def check(self, name: str, digest: str) -> None:
        """Refuse another digest than the recorded one."""
        known = self.known(name)
        if known and known != digest:
            raise self._changed(name, known, digest)

    def hold(self, name: str, digest: str) -> bool:
        """Record what is new; what is known must be the same. Whether it was new."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with (self.file.with_suffix(".lock")).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            pins = self._read()
            if known := pins.get(name):
                if known != digest:
                    raise self._changed(name, known, digest)
                return False
            write_durably(self.file, json.dumps(pins | {name: digest}, indent=1, sort_keys=True) + "\n")
        return True

    def _changed(self, name: str, known: str, digest: str) -> Reason:
        return Reason(
            "INET_PIN_CHANGED",
            f"{name} was {known[:23]}… when it was used first, and {digest[:23]}… is offered now",
            advice=f"Published files do not change. If you know why this one did, remove its line from {self.file}.",
        )

    def _read(self) -> dict[str, str]:
        return read_record(self.file)
