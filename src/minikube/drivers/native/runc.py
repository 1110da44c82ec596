"""Calls of `runc`, with a state directory of our own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from minikube.drivers.native.usernamespace import Enclosure
from minikube.host import cgroups, inherited
from minikube.host.process import ProcessFailed, run, spawn
from minikube.output.reason import Reason


class Runc:
    def __init__(self, binary: Path, state: Path) -> None:
        self._binary = str(binary)
        self._state = state

    def create(self, container: str, bundle: Path, *, log: Path, group: str, enclosure: Enclosure | None = None) -> int:
        """Make the box with its first process waiting, and give that process's number on the host.

        In hierarchies that runc does not know, the node stays in the control group that runc itself was in.
        """
        pid_file = bundle / "pid"
        seen = f"{enclosure.machine_seen}/{bundle.name}" if enclosure else str(bundle)
        argv = self._argv("create", "--bundle", seen, "--pid-file", str(pid_file), container)
        if enclosure:
            argv = enclosure.command(*argv)
        # The node's first process keeps these streams: they must be a file, not pipes to this command.
        with log.open("wb") as stream:
            code = spawn(argv, stdout=stream, stderr=stream, preexec=inherited.without(cgroups.joining(group))).wait()
        if code:
            raise Reason("GUEST_PROVISION", f"runc could not make the node: {log.read_text(errors='replace').strip()[-2000:]}")
        return int(pid_file.read_text())

    def start(self, container: str) -> None:
        run(self._argv("start", container), timeout=30)

    def process(self, container: str) -> int:
        """The node's first process, or 0 if it has none (any more)."""
        try:
            state = json.loads(run(self._argv("state", container), timeout=30).stdout)
        except (ProcessFailed, ValueError):
            return 0
        return 0 if state["status"] == "stopped" else int(state["pid"])

    def remove(self, container: str) -> None:
        """End and forget the container, also one whose state is damaged."""
        run(self._argv("delete", "--force", container), timeout=30, check=False)
        shutil.rmtree(self._state, ignore_errors=True)

    def _argv(self, *words: str) -> list[str]:
        return [self._binary, "--root", str(self._state), *words]
