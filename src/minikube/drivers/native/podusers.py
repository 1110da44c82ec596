"""Pods with user namespaces of their own in a node that is in one: the process on the host that gives their mounts owners.

The node's filter (`rights.py`) stops a call for it; runc hands what one answers with to a socket, while it makes the node.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from minikube.drivers.native import podmounts
from minikube.drivers.native.enclosure import LISTENER
from minikube.host import cgroups, inherited
from minikube.host.process import spawn

PROGRAM = Path(podmounts.__file__)
PATIENCE = 10.0  # seconds; runc has left it there by the time it ends


class Listener:
    """Where runc leaves the listener of a node that it is about to make."""

    def __init__(self, machine: Path) -> None:
        self._path = machine / LISTENER
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        directory = os.open(machine, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # a socket's path may have 107 bytes, a profile's path has more
            self._socket.bind(f"/proc/self/fd/{directory}/{LISTENER}")
        finally:
            os.close(directory)
        self._socket.listen(1)
        self._socket.settimeout(PATIENCE)

    def take(self) -> int:
        """The listener of the node that runc has made."""
        peer, _ = self._socket.accept()
        with peer:
            _, (listener, *_), _, _ = socket.recv_fds(peer, 1 << 16, 1)
        return listener

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


def attend(listener: int, machine: Path, *, process: int, place: str, group: str) -> None:
    """Start the process that answers; it ends with the node. Nobody waits for it but who calls."""
    argv = [sys.executable, "-I", "-S", str(PROGRAM), str(machine), str(process), place]
    spawn(argv, stdin=listener, cwd="/", new_session=True, preexec=inherited.without(cgroups.joining(group)))
    os.close(listener)
