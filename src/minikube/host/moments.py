"""Named moments of a command: each is a line of the debug log, and a place where a fault test can cut the command short.

`MINIKUBE_DIE_AT=<name>:<when>[:<signal>]` ends the process there: `before` it, `after` it, or that many milliseconds into it, by SIGKILL
unless another signal is named. It exists for tests/faults, which enumerates the names from the debug log.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from minikube.output.debuglog import debug


@contextmanager
def moment(name: str) -> Iterator[None]:
    """Something that a command does, by name."""
    debug(f"moment: {name}")
    where, _, wish = os.environ.get("MINIKUBE_DIE_AT", "").partition(":")
    when, _, number = wish.partition(":") if where == name else ("", "", "")
    if when == "before":
        _end(number)
    elif when.isdigit():
        threading.Thread(target=_end, args=(number, int(when) / 1000), daemon=True).start()
    yield
    if when == "after":
        _end(number)


def _end(number: str, delay: float = 0.0) -> None:
    time.sleep(delay)
    os.kill(os.getpid(), signal.Signals[number or "SIGKILL"])
