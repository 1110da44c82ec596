"""Starting the DNS relay of a machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from minikube.host import cgroups, inherited
from minikube.host.process import spawn
from minikube.network.resolvers import RELAY
from minikube.output.reason import Reason

PROGRAM = Path(__file__).with_name("dnsrelay.py")


def start(machine: Path, *, process: int, servers: Sequence[str], group: str) -> None:
    """Let the node ask these servers of the host. Returns when it can; the relay outlives this command and ends with the node."""
    argv = [sys.executable, "-I", "-S", str(PROGRAM), str(machine), str(process), RELAY, *servers]
    relay = spawn(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", new_session=True, preexec=inherited.without(cgroups.joining(group))
    )
    assert relay.stdout and relay.stderr  # noqa: S101 - both are pipes
    with relay.stdout, relay.stderr:
        if relay.stdout.read() != b"ready\n":
            why = relay.stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            raise Reason("IF_DEDICATED_NETWORK", f"the name servers of this host could not be made available to the node: {''.join(why)}")
