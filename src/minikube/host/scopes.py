"""Scopes of systemd: units around processes that somebody else started.

With `Delegate` systemd leaves what is below the unit's control group to us, shows it (`systemctl status`), and ends it when the machine
goes down. A scope has no files: it is gone with its last process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

from minikube.host import cgroups
from minikube.host.process import run, spawn
from minikube.output.reason import Reason

PATIENCE = 30  # seconds for an orderly end of a node when the machine goes down


@contextlib.contextmanager
def scope(name: str, *, what: str, group: str) -> Iterator[None]:
    """A unit with a control group that is handed over. Who moves in during the block keeps it; otherwise it ends with the block.

    Until then it is held by a process of ours in `group`, below the unit's own, which ends with this command, however that ends.
    """
    # Limits are our own, below; systemd's default for a unit may be less than a node needs.
    properties = ("Delegate=yes", "TasksMax=infinity", f"TimeoutStopSec={PATIENCE}")
    names = (f"--unit={name}", f"--description={what}")
    argv = ["systemd-run", "--scope", "--quiet", "--collect", *names, *(f"--property={one}" for one in properties), "--", "cat"]
    with spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder:
        assert holder.stdin and holder.stdout and holder.stderr  # noqa: S101 - all are pipes
        with contextlib.suppress(BrokenPipeError):
            os.write(holder.stdin.fileno(), b".")
        # The echo comes once systemd has made the unit.
        if holder.stdout.read(1) != b".":
            raise Reason(
                "GUEST_PROVISION",
                f"systemd made no unit for the node: {holder.stderr.read().decode(errors='replace').strip()}",
                advice="See what it says of itself: systemctl status",
            )
        # A group of version 2 has processes or divides what it has, never both.
        cgroups.put(group, holder.pid)
        yield


def end(name: str) -> None:
    """Nothing of it is left afterwards; it may be gone already."""
    run(["systemctl", "stop", name], timeout=PATIENCE + 15, check=False)
