"""What processes inherit from the shell that a command was typed in, and a node must not: limits, priority, CPUs, mask, signals.

A node lives on when that shell has ended, so it is the same from every shell.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from minikube.host.capabilities import bounding_set

OPEN_FILES = 1 << 20  # what containers of other engines see
LEAST_OPEN_FILES = 8192  # fewer, and a busy API server or etcd runs out of them
_NONE = resource.RLIM_INFINITY
_STACK = 8 << 20
# What each is for a node: (soft, hard). Locked memory and processes are bounded by the node's control group.
_WANTED = {
    "AS": (_NONE, _NONE),
    "CORE": (0, _NONE),
    "CPU": (_NONE, _NONE),
    "DATA": (_NONE, _NONE),
    "FSIZE": (_NONE, _NONE),
    "MEMLOCK": (_NONE, _NONE),
    "NPROC": (_NONE, _NONE),
    "RSS": (_NONE, _NONE),
    "STACK": (_STACK, _NONE),
}


def limits() -> dict[str, tuple[int, int]]:
    """Soft and hard limits of a node's first process, by the part of their names behind `RLIMIT_`.

    Without CAP_SYS_RESOURCE no limit can be raised beyond the hard one of the caller's shell: then it is that.
    """
    most = int(Path("/proc/sys/fs/nr_open").read_text())
    wanted = _WANTED | {"NOFILE": (min(OPEN_FILES, most),) * 2}
    if "CAP_SYS_RESOURCE" in bounding_set():
        return wanted
    found = {}
    for name, (soft, hard) in wanted.items():
        highest = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        found[name] = (_least(soft, highest), _least(hard, highest))
    return found


def without(then: Callable[[], None]) -> Callable[[], None]:
    """For between fork and exec: leave behind what was inherited, then do what is to be done there."""
    wanted = limits()

    def leave() -> None:
        # The user namespace that such a process makes is bounded by what the process itself has at that moment.
        for name, values in wanted.items():
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), values)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(0o022)
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        with contextlib.suppress(OSError):
            descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
            os.write(descriptor, b"0")
            os.close(descriptor)
        then()

    return leave


def _least(one: int, other: int) -> int:
    """Of two limits, where none at all is -1."""
    return min((number for number in (one, other) if number != _NONE), default=_NONE)
