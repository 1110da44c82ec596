"""What each cluster has set aside of limits that all clusters of this host share.

It is written on the cluster's bridge, as a part of its alias: every home and user can read it there, only root can write it, and it goes
with the cluster or with a reboot. A cluster that has just begun to start has it before it uses any of it. Whoever reserves holds the
host-wide lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from minikube.host import inotify, shiftedids
from minikube.output.reason import Reason

_TEXT = re.compile(r"holds ids=([0-9a-f]+)\+([0-9a-f]+) instances=(\d+) watches=(\d+)")
_LIMIT = 256  # bytes of an alias


class Reservation(NamedTuple):
    ids: range
    """Empty for a node without a user namespace, and for one of an older minikube, whose ids only its processes tell."""
    instances: int
    watches: int

    def __str__(self) -> str:
        return f"holds ids={self.ids.start:x}+{len(self.ids):x} instances={self.instances} watches={self.watches}"


def usual(ids: range = range(0)) -> Reservation:
    return Reservation(ids, inotify.share(), inotify.WATCHES_OF_CLUSTER)


def parsed(alias: str) -> Reservation | None:
    found = _TEXT.search(alias)
    if not found:
        return None
    first, count = int(found[1], 16), int(found[2], 16)
    return Reservation(range(first, first + count), int(found[3]), int(found[4]))


def of_others(own: str, root: Path = Path("/")) -> list[Reservation]:
    """Of every cluster but the one whose bridge is named."""
    found = []
    for bridge in (root / "sys/class/net").glob("mk-????????"):
        if bridge.name != own:
            try:
                alias = (bridge / "ifalias").read_text(errors="replace")
            except OSError:
                alias = ""
            found.append(parsed(alias) or usual())
    return found


def free_ids(others: Iterable[Reservation], root: Path = Path("/")) -> list[range]:
    """Ranges of ids that no node has, neither set aside nor in use."""
    return list(shiftedids.free([*(other.ids for other in others if other.ids), *shiftedids.in_use(root)]))


def reserve(bridge: str, *, ids: bool, root: Path = Path("/")) -> range:
    """Set aside what a cluster needs, and give the ids of its node: none if there are none left."""
    chosen = next(iter(free_ids(of_others(bridge, root), root)), range(0)) if ids else range(0)
    write(bridge, usual(chosen), root)
    return chosen


def write(bridge: str, reservation: Reservation, root: Path = Path("/")) -> None:
    """On the bridge, beside what else is written there."""
    file = root / "sys/class/net" / bridge / "ifalias"
    rest = [part for part in file.read_text(errors="replace").strip().split("; ") if part and not parsed(part)]
    text = "; ".join([*rest, str(reservation)])
    if len(text.encode()) < _LIMIT:  # else somebody uses it for other things: then only what is in use tells
        file.write_text(text)


def settings_too_low(own: str, root: Path = Path("/")) -> list[tuple[str, int, int]]:
    """Kernel settings that do not suffice for all clusters and one more: name, value, and what it should be."""
    everybody = [*of_others(own, root), usual()]
    instances, watches = (sum(numbers) for numbers in zip(*(one[1:] for one in everybody), strict=True))
    return inotify.too_low(root, instances=instances, watches=watches)


def require_instances(own: str, root: Path = Path("/")) -> None:
    """Refuse a cluster whose components would not run, or take from others what they need, on a host whose limit cannot be raised."""
    left = inotify.left(root, clusters=len(of_others(own, root)))
    if left < inotify.needed():
        message = f"{left} of {inotify.limit(root)} inotify instances are left on this host, and a cluster takes {inotify.needed()}"
        raise Reason("HOST_INOTIFY_LIMIT", message, advice=inotify.RAISE)
