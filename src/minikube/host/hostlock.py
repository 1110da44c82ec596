"""One command at a time on this host, for whichever user or home it works: a lock that only root can take, without a file of ours."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from minikube.output.reason import Reason

# Locking an open file takes no right but that of opening it. The kernel lets only root open this one (mode 0200), on every host with
# IPv4, and has one for each network namespace: what is chosen under the lock (subnets, settings) is that namespace's. Nothing is
# written to it, so nothing is flushed; the lock ends with the process that holds it.
_FILE = "/proc/sys/net/ipv4/route/flush"


@contextmanager
def host_lock(*, timeout: float = 30.0) -> Iterator[None]:
    """Hold it for as long as the block runs; not to be taken twice."""
    import fcntl

    deadline = time.monotonic() + timeout
    descriptor = os.open(_FILE, os.O_WRONLY | os.O_CLOEXEC)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Reason(
                        "IF_DEDICATED_NETWORK",
                        f"another minikube has held the lock of this host for {timeout:g} seconds",
                        advice=f"Find out which: sudo fuser -v {_FILE}",
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
