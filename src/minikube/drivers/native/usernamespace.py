"""The user namespace of a node: its root is nobody on the host, so whatever right it has counts in the node alone.

Files on disk belong to whom they belong in the node; only processes are shifted, and mounts translate. So a machine can go from one to
the other at any start, and which ids it gets is of no matter to its data.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minikube.artifacts.components import Components
from minikube.drivers.native import enclosure
from minikube.drivers.native.layout import Layout
from minikube.host import cgroups, shiftedids
from minikube.host.nofollow import LeadsElsewhere
from minikube.host.process import PIPE, spawn
from minikube.host.untrustedtree import Tree
from minikube.node.places import WRITABLE

# What has to be a directory, and is covered for the moment of making a node; the first that nothing needed then is below.
PLACES = ("/mnt", "/media", "/srv", "/opt")
# A group that is handed over: who may make groups below it and move processes there. Its limits stay the host's.
HANDED_OVER = (".", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks")
# The mark of a directory that hides what lower layers have there, outside and inside of a user namespace.
OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")


class NoUserNamespace(Exception):
    """Why a node on this machine cannot have one."""


class Enclosure(NamedTuple):
    """How one machine's node is put into its user namespace; plain values, kept among the machine's facts."""

    first: int
    """The host's number of the node's root."""
    place: str
    source: str
    lowers: list[str]
    machine: str = ""
    pods: bool = False
    """Whether the kernel is able to what pods with user namespaces of their own need in it."""
    size: int = shiftedids.LARGE
    """How many ids the node has."""

    @property
    def root(self) -> str:
        """The node's root directory, for whom this encloses."""
        return f"{self.place}/root"

    @property
    def machine_seen(self) -> str:
        """The machine's directory, for whom this encloses: a path that is nobody else's to change."""
        return f"{self.place}/{enclosure.MACHINE}"

    @property
    def listener(self) -> str:
        """The socket that runc leaves the listener of the node's filter at; by a short path, as sockets need it."""
        return f"{self.machine_seen}/{enclosure.LISTENER}"

    @property
    def mappings(self) -> list[dict[str, int]]:
        return [{"containerID": 0, "hostID": self.first, "size": self.size}]

    def command(self, *words: str, writable: Sequence[str] = ()) -> list[str]:
        """The same command with the node's root in place; without one, only a try."""
        wish: dict[str, Any] = {"first": self.first, "count": self.size, "place": self.place, "writable": writable}
        wish |= {"root": self.source, "lowers": self.lowers, "machine": self.machine}
        return [sys.executable, "-I", "-S", enclosure.__file__, json.dumps(wish), *words]


class Trial:
    """Finding out by trying, in a process of its own, while others do other things."""

    def __init__(self, layout: Layout, components: Components) -> None:
        lowers = [path / "usr" for path in (layout.images, components.node_binaries, components.node_image)]
        place = next(_unneeded([layout.root, components.runc, Path(sys.executable), Path(enclosure.__file__), *lowers]), "")
        # Which ids it is tried with does not matter: nothing that it makes lasts.
        first, sources = shiftedids.FIRST, [_from(layout.directory, path) for path in lowers]
        self._made = Enclosure(first, place, _from(layout.directory, layout.root), sources, str(layout.directory))
        command = self._made.command(writable=[_from(layout.directory, layout.state(name)) for name in WRITABLE])
        self._process = spawn(command, stdout=PIPE, stderr=PIPE) if place else None

    def result(self, ids: range) -> Enclosure:
        """With these ids of the host; NoUserNamespace where there are none, or the kernel or a file system is not able to."""
        if not ids:
            raise NoUserNamespace("every range of ids is taken by another node")
        if not self._process:
            raise NoUserNamespace(f"none of {', '.join(PLACES)} is a directory that is free to be covered")
        said, words = (text.decode(errors="replace") for text in self._process.communicate(timeout=30))
        if code := self._process.returncode:
            raise NoUserNamespace((words.strip() or f"exit code {code}").splitlines()[-1])
        return self._made._replace(first=ids.start, size=len(ids), pods=said.split() == ["pods"])


def _from(machine: Path, path: Path) -> str:
    """As the program is told: relative to the machine's directory where it is in there."""
    return str(path.relative_to(machine) if path.is_relative_to(machine) else path)


def hand_over(group: str, owner: int) -> None:
    """Let the node's root divide its control group."""
    for directory in cgroups.directories(group):
        for name in HANDED_OVER:
            with contextlib.suppress(FileNotFoundError):
                os.chown(directory / name, owner, owner)


def keep_opaque(node: Tree, layers: str) -> None:
    """Image layers unpacked in the one kind of node stay what they are in the other."""
    for directory in node.directories(layers):
        for known, other in (OPAQUE, OPAQUE[::-1]):
            with contextlib.suppress(OSError):
                os.setxattr(directory, other, os.getxattr(directory, known))


def forget_ranges(node: Tree, pods: str) -> None:
    """Have pods get other ids: with those from another kind of node, the kubelet would not start. Files in volumes have none of them."""
    with contextlib.suppress(LeadsElsewhere):
        for name in node.names(pods):
            node.remove(f"{pods}/{name}/userns")


def _unneeded(needed: Sequence[Path]) -> Iterator[str]:
    paths = [path.resolve() for path in needed]
    return (place for place in PLACES if Path(place).is_dir() and not any(path.is_relative_to(place) for path in paths))
