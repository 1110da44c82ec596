"""How much the machine we stand on has."""

from __future__ import annotations

import os


def cpus() -> int:
    """CPUs this process may use: a container or `taskset` may allow fewer than there are."""
    return len(os.sched_getaffinity(0))


def memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
