"""Waiting with a deadline for what has no `kubectl wait`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(probe: Callable[[], T], *, seconds: float = 30, every: float = 0.2) -> T:
    """The first answer of the probe that is true; the last answer, or error, is in the failure."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            answer: T | Exception = probe()
        except (AssertionError, OSError) as error:
            answer = error
        if answer and not isinstance(answer, Exception):
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {seconds:g} s; at the end: {answer!r}")
        time.sleep(every)
