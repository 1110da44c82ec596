"""Ports of the node on this host's loopback, held open by the connection's master; nothing listens on any other interface."""

from __future__ import annotations

import json
import socket
import threading

from minikube.drivers.ssh.connection import Connection
from minikube.output.reason import Reason

FILE = "forwards.json"


class Forwards:
    """Which port of this host leads to which of the node. Kept in a file: the kubeconfig says the same port after a restart."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._file = connection.directory / FILE
        self._lock = threading.Lock()
        connection.opened = self.restore

    def to(self, address: str, port: int) -> int:
        """The loopback port that leads to a port of the node, opened now if need be."""
        with self._lock:
            chosen = self._known().get(f"{address}:{port}", 0)
            self._connection.open()
            if chosen and not _is_free(chosen):
                return chosen  # listening already: by this master, which takes its ports along when it ends
            for _ in range(20):
                chosen = chosen or _any_port()
                if self._connection.forward(chosen, address, port):
                    self._remember(f"{address}:{port}", chosen)
                    return chosen
                chosen = 0
        raise Reason(
            "DRV_PORT_FORWARD",
            f"Port {port} of the node on {self._connection.target.address} cannot be forwarded: no port of the loopback here is free",
            advice="Run the command again. `ss -ltn` shows who listens.",
        )

    def restore(self) -> None:
        """A new master has none of the ports of the last one."""
        for destination, chosen in self._known().items():
            address, _, port = destination.rpartition(":")
            if _is_free(chosen):
                self._connection.forward(chosen, address, int(port))

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    def _known(self) -> dict[str, int]:
        from minikube.host.files import read_record

        return read_record(self._file)

    def _remember(self, destination: str, chosen: int) -> None:
        from minikube.host.files import write_durably

        known = self._known()
        if known.get(destination) != chosen:
            write_durably(self._file, json.dumps(known | {destination: chosen}) + "\n")


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
