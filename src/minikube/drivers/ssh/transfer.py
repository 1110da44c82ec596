"""Bringing components to a machine: entries of the store that it does not have, and of those only files it has nowhere else."""

from __future__ import annotations

import contextlib
import json
import time
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from minikube.artifacts import sealing
from minikube.artifacts.components import Components
from minikube.drivers.ssh import offer, place
from minikube.drivers.ssh.channel import Channel, expect
from minikube.drivers.ssh.wire import BLOB, END, Closed
from minikube.output.progress import Progress, Task
from minikube.profiles.paths import store

# What the node and those who make it need over there; the rest is used here.
NEEDED = ("node_image", "node_binaries", "prepared_store", "runc")
PIECE = 1 << 20
# Packing costs a core about a second for this many bytes: over a network that is as fast, it would only hold things up.
FAST = 60e6


def over_there(components: Components) -> dict[str, str]:
    """The same components, as paths into the machine's store."""
    return {name: _over_there(value) if isinstance(value, Path) else value for name, value in components._asdict().items()}


def entry_of(path: Path) -> Path:
    """The store entry that a path is in."""
    entries = store() / "entries"
    return entries / path.relative_to(entries).parts[0]


def bring(channel: Channel, components: Components, progress: Progress, *, machine: str) -> int:
    """See that the machine has what a node needs; gives how many bytes of files had to be sent."""
    entries = {entry.name: entry for name in NEEDED if (entry := entry_of(getattr(components, name)))}
    missing = _among(entries, expect(channel.call("entries", names=list(entries)), "missing", list))
    if not missing:
        return 0
    listed = {name: offer.list_entry(entries[name]) for name in missing}
    answer = channel.call("offer", zlib.compress(json.dumps(listed).encode(), 1))
    sources = {
        item.content: (entries[name] / sealing.CONTENT / item.path, item.size)
        for name, items in listed.items()
        for item in items
        if item.kind == "file"
    }
    wanted = _among(sources, expect(answer, "wanted", list))
    size = sum(sources[content][1] for content in wanted)
    with progress.task(f"copying components to {machine}", size / 1e6, "MB") as task:
        with channel.telling(), contextlib.suppress(Closed):  # an agent that gives up says why in its answer
            channel.wire.say({"verb": "deliver"})
            sender = _Sender(channel, task)
            for content in wanted:
                sender.send(sources[content][0])
            task.note("unpacking")
        channel.answer()
    return size


def _among(offered: Collection[str], named: list[object]) -> list[str]:
    """Only what was offered can be asked for, and once."""
    return [name for name in offered if name in {one for one in named if isinstance(one, str)}]


class _Sender:
    """Sends files, packed if the way there is slow. It is measured on the go: a machine may be in the next room or in another country."""

    def __init__(self, channel: Channel, task: Task) -> None:
        self._wire, self._task = channel.wire, task
        self._seconds = self._bytes = 1e-9

    def send(self, file: Path) -> None:
        for piece in _pieces(file):
            packed = zlib.compress(piece, 1) if self._bytes / self._seconds < FAST else piece
            began = time.monotonic()
            if len(packed) < len(piece):
                self._wire.send(BLOB, b"z" + packed)
            else:
                self._wire.send(BLOB, b"-" + piece)
            self._seconds += time.monotonic() - began
            self._bytes += len(packed)
            self._task.advance(len(piece) / 1e6)
        self._wire.send(END)


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb", buffering=0) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _over_there(path: Path) -> str:
    try:
        return f"{place.ENTRIES}/{path.relative_to(store() / 'entries')}"
    except ValueError:
        return str(path)
