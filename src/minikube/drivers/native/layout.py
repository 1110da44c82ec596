"""The directories of one native machine, and the names its host objects get."""

from __future__ import annotations

import hashlib

from minikube.host import credentials, systemd
from minikube.profiles.paths import home_text

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from pathlib import Path

    from minikube.host.untrustedtree import Tree

# Where image layers are, in the node: below /usr, which is an overlay, so that nobody in there can write to them.
LAYERS = "/usr/lib/minikube/layers"
NOWHERE = "/proc/self/nowhere"  # nothing is there, and nobody can put anything there


class Layout:
    """Everything of a machine is below one directory; what it makes on the host carries `id`, unique on this host."""

    def __init__(self, machine: str) -> None:
        self.machine = machine
        self.place = f"{home_text()}/machines/{machine}"  # the directory as text, for quick commands
        # The same directory, by a path that its owner cannot make lead elsewhere: before root has opened it, there is none for root
        # that works for the owner (machinedirectory.py).
        self.reached = NOWHERE if credentials.person() else self.place
        # Two homes may both have a profile called `minikube`: the directory is part of the name.
        self.id = hashlib.sha256(self.place.encode()).hexdigest()[:8]
        self.bridge = f"mk-{self.id}"
        self.cable = f"mk-{self.id}-1"
        self.container = f"minikube-{self.id}"
        self.unit = f"minikube-{self.id}.scope"
        # All control groups are below this one: that of a unit where systemd divides the machine, else one of our own making.
        self.group = systemd.scope_group(self.unit) if systemd.is_running() else f"/minikube/{self.id}"
        # The node's own group, which it sees as its root; the one around it, which it does not see; and what works for it on the host.
        self.fence = f"{self.group}/fence"
        self.cgroup = f"{self.fence}/node"
        self.attendants = f"{self.group}/attendants"

    @property
    def directory(self) -> Path:
        from pathlib import Path

        return Path(self.reached)

    @property
    def facts(self) -> Path:
        return self.directory / "native.json"

    @property
    def journal(self) -> Path:
        return self.directory / "host-changes.json"

    @property
    def bundle(self) -> Path:
        return self.directory / "bundle"

    @property
    def root(self) -> Path:
        return self.directory / "bundle" / "rootfs"

    @property
    def images(self) -> Path:
        """What a node sees in its /usr besides the node image: its image layers. Not below `state`: the node cannot write here."""
        return self.directory / "images"

    @property
    def runc_state(self) -> Path:
        return self.directory / "runc"

    @property
    def control_socket(self) -> Path:
        return self.directory / "run" / "control.sock"

    @property
    def files(self) -> Tree:
        """What the node keeps (`/etc`, `/var` …): the one way to its files."""
        from minikube.host.untrustedtree import Tree

        return Tree(f"{self.reached}/state")

    def state(self, path: str) -> Path:
        """Where that is on the host, to be mounted or named to people; never to be opened: the node may have put links there."""
        return self.directory / "state" / path.lstrip("/")
