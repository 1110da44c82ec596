"""What the rest of the code sees of a driver: `Driver` makes boxes that hold nodes, `Node` is one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.values import File, Limits, Result


class Node(ABC):
    """A place where a kubelet runs."""

    name: str
    address: str
    gateway: str

    @abstractmethod
    def run(self, argv: Sequence[str], *, input: bytes | None = None, timeout: float | None = None) -> Result:
        """Run a command in the node to its end."""

    @abstractmethod
    def attach(self, argv: Sequence[str], *, tty: bool) -> int:
        """Run a command in the node on this process's own terminal or pipes; gives its exit code."""

    @abstractmethod
    def put(self, files: Mapping[str, File]) -> None:
        """Write files into the node; it may be stopped."""

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """A file of the node, or None; it may be stopped."""

    @abstractmethod
    def services(self) -> dict[str, dict[str, Any]]:
        """State of every service of a running node."""


class Driver(ABC):
    """Makes, starts, stops and deletes the box of one node."""

    name: str

    @abstractmethod
    def create(self, components: Components, limits: Limits) -> Node:
        """Make the box, stopped, with its addresses known; making one that exists only brings it up to date."""

    @abstractmethod
    def fill(self) -> None:
        """Give a new node its images; may run beside everything that does not start services."""

    @abstractmethod
    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        """What the supervisor has to do in this driver's boxes before any service starts."""

    @abstractmethod
    def start(self, metadata: Mapping[str, Any]) -> None:
        """Start the box; the supervisor in it starts the services that the metadata lists."""

    @abstractmethod
    def stop(self) -> None:
        """End every process of the node in order and undo what was changed on the host; data stays."""

    @abstractmethod
    def delete(self) -> None:
        """Stop, whatever state it is in, and remove every file of the node."""

    @abstractmethod
    def state(self) -> str:
        """Running, Paused, Stopped or Nonexistent."""

    @abstractmethod
    def limits(self) -> Limits:
        """What the box was made with."""

    @abstractmethod
    def node(self) -> Node:
        """The node of a box that was created before."""

    @abstractmethod
    def tree(self) -> Path:
        """A directory of this host whose files the node finds below its own `/` when it starts."""
