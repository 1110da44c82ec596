"""Which mount a path is on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from minikube.drivers.checks import Ground


class Mount(NamedTuple):
    point: str
    kind: str
    options: frozenset[str]


def mount_of(ground: Ground, path: Path) -> Mount | None:
    """The mount that holds the path, or would if the path were made; None where that cannot be told."""
    inside = "/" + str(path.resolve()).removeprefix(str(ground.root.resolve())).lstrip("/")
    best: Mount | None = None
    for line in ground.read("/proc/self/mountinfo").splitlines():
        mount = _parse(line)
        # A later mount on the same point covers the earlier one.
        if mount and _holds(mount.point, inside) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def _parse(line: str) -> Mount | None:
    fields = line.split()
    if len(fields) < 10 or "-" not in fields:
        return None
    after = fields[fields.index("-") + 1 :]
    options = {*fields[5].split(","), *(after[2].split(",") if len(after) > 2 else ())}
    return Mount(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]), after[0], frozenset(options))


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
