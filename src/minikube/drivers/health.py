"""Can the drivers work here? Their own checks, side by side and under a time limit: they are other people's code, and may hang."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

from minikube.drivers.definition import Definition
from minikube.drivers.values import DriverStatus

SECONDS = 10.0


def status_of(definition: Definition, *, seconds: float = SECONDS) -> DriverStatus:
    return statuses([definition], seconds=seconds)[0]


def statuses(definitions: Sequence[Definition], *, seconds: float = SECONDS) -> list[DriverStatus]:
    """The status of each, in the same order, at the latest after that many seconds."""
    answers: dict[int, DriverStatus] = {}

    def ask(index: int, definition: Definition) -> None:
        answers[index] = _ask(definition)

    threads = [
        threading.Thread(target=ask, args=(index, definition), name=f"status of {definition.name}", daemon=True)
        for index, definition in enumerate(definitions)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = DriverStatus(healthy=False, reason=f"its status check gave no answer in {seconds:g} s", fix="Look at what it waits for.")
    return [answers.get(index, late) for index in range(len(definitions))]


def _ask(definition: Definition) -> DriverStatus:
    if sys.platform not in definition.systems:
        systems = ", ".join(definition.systems)
        return DriverStatus(installed=False, healthy=False, reason=f"it works on {systems} only", id="DRV_UNSUPPORTED_OS")
    try:
        status = definition.status()
        if not isinstance(status, DriverStatus):
            raise TypeError(f"{type(status).__name__} instead of a DriverStatus")
    except BaseException as error:  # SystemExit included: a check may not end the command
        return DriverStatus(healthy=False, reason=f"its status check failed: {type(error).__name__}: {error}")
    return status
