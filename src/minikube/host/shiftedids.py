"""The users and groups of this host that nodes in user namespaces get. No two nodes share any.

Between what systemd gives to containers and what it keeps for images of others. A node needs 65536 for itself and as many for each pod
with a user namespace of its own, of which there are up to 110. The first nodes of a host get more than that, the next enough, and those
after them only their own: their pods cannot have user namespaces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

FIRST = 0x70000000
LARGE, MEDIUM, SMALL = 1 << 24, 1 << 23, 1 << 17
_SIZES = {LARGE: 8, MEDIUM: 12, SMALL: 128}
"""How many ranges there are of each size, largest first; together as many ids as fifteen large ones."""
ALL = range(FIRST, FIRST + sum(size * number for size, number in _SIZES.items()))


def ranges() -> Iterator[range]:
    first = FIRST
    for size, number in _SIZES.items():
        for _ in range(number):
            yield range(first, first + size)
            first += size


def free(taken: Iterable[range]) -> Iterator[range]:
    """Ranges that have nothing in common with those taken, largest first."""
    known = list(taken)
    return (own for own in ranges() if not any(own.start < other.stop and other.start < own.stop for other in known))


def in_use(root: Path = Path("/")) -> set[range]:
    """What user namespaces of running processes are made of: also those of nodes that nothing else is known of."""
    found = set()
    for process in (root / "proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):  # it may have ended since
            if process.stat().st_uid in ALL:
                for line in (process / "uid_map").read_text().splitlines():
                    _, first, count = map(int, line.split())
                    found.add(range(first, first + count))
    return found
