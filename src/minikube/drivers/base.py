"""What the rest of the code sees of a driver: `Driver` makes boxes that hold nodes, `Node` is one of them.

docs/reference/driver-contract.md says more about each method, and `minikube.testing.driver_contract` tests it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.values import File, Limits, Machine, Result
    from minikube.node.control import Control
    from minikube.output.progress import Progress


class Node(ABC):
    """A place where a kubelet runs. Its files outlive a stop; commands and services need it to run."""

    name: str
    """How Kubernetes knows the node: the machine's name in lower case, as the kubelet has it."""
    address: str
    """How the node's own processes and pods know it; `forward` says how this host reaches it."""
    gateway: str
    """Where processes of the node find the machine it stands on."""
    control: Control
    """The supervisor's socket, wherever it has been brought to on this host."""

    @abstractmethod
    def run(self, argv: Sequence[str], *, input: bytes | None = None, timeout: float | None = None) -> Result:
        """Run a command in the node to its end; TimeoutError, and the command ended, when that takes too long."""

    @abstractmethod
    def attach(self, argv: Sequence[str], *, tty: bool) -> int:
        """Run a command in the node on this process's own terminal or pipes, passing signals on; gives its exit code."""

    @abstractmethod
    def put(self, files: Mapping[str, File]) -> None:
        """Write files into the node, running or stopped, making the directories above them."""

    @abstractmethod
    def get(self, *paths: str) -> dict[str, File]:
        """Files of the node, running or stopped; a directory means every regular file below it. What is not there is left out."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is a file or directory in the node, running or stopped."""

    @abstractmethod
    def forward(self, port: int) -> tuple[str, int]:
        """Address and port at which this host reaches a TCP port of the node, known from create on, open while the node runs."""

    def get_own(self, *paths: str) -> dict[str, File]:
        """The same for files that this project writes itself: a link in the place of one counts as missing where that can be seen."""
        return self.get(*paths)

    def put_own(self, files: Mapping[str, File]) -> None:
        """The same for files that this project writes itself: a link in their way is replaced where that can be done."""
        self.put(files)

    def read(self, path: str) -> bytes | None:
        """One file of the node, or None."""
        found = self.get(path).get(path)
        return None if found is None else found.content

    def services(self) -> dict[str, dict[str, Any]]:
        """What the supervisor says of every service: state, pid, restarts, since, last_exit."""
        found: dict[str, dict[str, Any]] = self.control.status().get("services", {})
        return found

    def start_services(self, *names: str) -> None:
        self.control.start(*names)

    def stop_services(self, *names: str) -> None:
        """Returns when they have ended; they stay stopped until they are started."""
        self.control.stop(*names)

    def restart_services(self, *names: str) -> None:
        self.control.restart(*names)

    def wait_for_services(self, *names: str, timeout: float = 60.0) -> None:
        """Returns when they are ready (without names: all that should run), raises ControlRefused when they are not in time."""
        self.control.wait(names, timeout)


class Driver(ABC):
    """Makes, starts, stops and deletes the box of one machine. Making the object touches nothing."""

    name: str
    where: str
    """Where its nodes run, for people: `Running {where} (CPUs=2, …)`."""
    needs_root = False
    """Whether making and ending its boxes takes root rights on this host: `start`, `stop` and `delete` ask for them once."""
    step = "Running on Localhost"
    """Which of start's steps (output/events.py) the making of a node is, for programs."""

    @abstractmethod
    def machine(self) -> Machine:
        """The computer the box stands on, or will stand on."""

    def prepare(self, progress: Progress) -> None:  # noqa: B027 - most drivers find the computer there
        """See that the computer is there and runs: only for drivers that make it. `machine` tells the truth about it from now on."""

    def roots_directory(self) -> Path | None:
        """The machine's directory, made, where root keeps it as its own for the person that it works for; None for all other machines."""
        return None

    @abstractmethod
    def create(self, components: Components, limits: Limits, progress: Progress) -> Node:
        """Make the box, stopped, with its addresses known; one that exists is brought up to date, one that runs is left alone."""

    @abstractmethod
    def fill(self, progress: Progress) -> None:
        """Give a new node its images; may run beside everything that does not start services."""

    def build(self) -> None:  # noqa: B027 - only worth it where it takes time
        """Begin with what `start` does, as far as it is the same whatever the node is to run; may run beside the writing of its files."""

    @abstractmethod
    def setup(self, *, service_address: str, api_port: int) -> list[dict[str, Any]]:
        """What the supervisor has to do in this driver's boxes before any service starts."""

    @abstractmethod
    def start(self, metadata: Mapping[str, Any]) -> None:
        """Start the box; the supervisor in it starts the services that the metadata lists. One that runs is left alone."""

    @abstractmethod
    def stop(self) -> None:
        """End every process of the node in order and undo what was changed on the machine; data stays."""

    @abstractmethod
    def delete(self) -> None:
        """Stop, whatever state it is in, and remove every file of the node."""

    def look_after(self) -> None:  # noqa: B027 - most drivers have nothing of the kind
        """Bring back what a running node needs outside itself and somebody ended."""

    def warnings(self) -> list[str]:
        """What whoever starts a box should know about it, in words."""
        return []

    def host_changes(self) -> list[dict[str, Any]]:
        """What is changed on this host for the node at the moment; host/journal.py can say each in words."""
        return []

    def missing(self) -> list[str]:
        """Parts of an existing machine that are gone, in words: `delete` says what it found."""
        return []

    @abstractmethod
    def state(self) -> str:
        """Running, Paused, Stopped or Nonexistent."""

    def change_limits(self, limits: Limits) -> bool:
        """Give a running node other limits; False where that needs a restart."""
        return False

    @abstractmethod
    def limits(self) -> Limits:
        """What the box was made with."""

    @abstractmethod
    def node(self) -> Node:
        """The node of a box that was created before; GUEST_LOAD_HOST where there is none."""
