"""Processes of ours that work for a machine on the host for as long as its node runs, found by their command line."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def processes(program: Path, machine: Path) -> list[int]:
    """Those of a machine that run this program now; the machine's directory is one of their words."""
    found, ending = [], os.fsencode(f"/{program.name}")
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(ending) for word in words) and os.fsencode(machine) in words:
                found.append(int(entry.name))
    return found


def end(program: Path, machine: Path, *, patience: float = 1.0) -> None:
    """They end with the node; who does not is killed."""
    deadline = time.monotonic() + patience
    while left := processes(program, machine):
        if time.monotonic() > deadline:
            for process in sorted(left):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(0.01)
