"""How much the machine we stand on has."""

from __future__ import annotations

import os


def cpus() -> int:
    """CPUs that a node may use: a container may allow fewer than there are. `taskset` does not bind what it is no parent of."""
    own = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # of this thread; the kernel leaves out what may not be used
        return len(os.sched_getaffinity(0))
    except OSError:
        return len(own)
    finally:
        os.sched_setaffinity(0, own)


def memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
