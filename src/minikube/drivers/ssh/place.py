"""Where things are on the machine. Root's, all of it, and nothing anywhere else."""

from __future__ import annotations

import hashlib
import os

STORE = "/var/cache/minikube"
"""Components, shared by everybody who uses the machine; like the store of this host, it outlives the nodes."""
ENTRIES = f"{STORE}/entries"
AGENTS = f"{STORE}/agents"
NODES = "/var/lib/minikube-nodes"
"""A directory for each home that has nodes there."""


def node_home(client: str) -> str:
    """`MINIKUBE_HOME` of the agent."""
    return f"{NODES}/{client}/.minikube"


def client_id(home: str | os.PathLike[str]) -> str:
    """This home, as the machine knows it: the same after its directory was lost, another one for everybody else."""
    import socket

    try:
        with open("/etc/machine-id") as stream:  # noqa: PTH123 - quick commands come here
            host = stream.read().strip()
    except OSError:
        host = ""
    return hashlib.sha256(f"{host}\0{socket.gethostname()}\0{os.getuid()}\0{os.fspath(home)}".encode()).hexdigest()[:12]
