"""Work as a graph: each step starts the moment what it needs is done, and its time is kept."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from minikube.host.moments import moment
from minikube.output.debuglog import debug

# Seconds after which a step that computes lets another go on. Python's own 5 ms are long for one that makes a hundred system calls.
TURN = 0.0005


class Timing(NamedTuple):
    """When a step ran, in seconds since the graph began."""

    name: str
    began: float
    ended: float
    needs: tuple[str, ...]


class Graph:
    """Steps with names and declared needs. Threads suffice: steps wait for processes, disks and sockets, not for Python."""

    def __init__(self) -> None:
        self._steps: dict[str, tuple[tuple[str, ...], Callable[[], None]]] = {}
        self._done: dict[str, Timing] = {}
        self._started: set[str] = set()
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._origin = time.monotonic()

    def step(self, name: str, work: Callable[[], None], *, needs: tuple[str, ...] = ()) -> None:
        """Add a step; what it needs must have been added before, so there can be no cycle."""
        unknown = [need for need in needs if need not in self._steps]
        if unknown:
            raise ValueError(f"step {name!r} needs {unknown}, which are not there yet")
        self._steps[name] = (needs, work)

    def run(self) -> None:
        """Run every step. After a failure nothing new is started; the first failure is raised once the running steps have ended."""
        sys.setswitchinterval(TURN)
        with self._changed:
            while True:
                if self._failure is None:
                    self._start_what_can()
                if len(self._done) == len(self._steps) or (self._failure and len(self._done) == len(self._started)):
                    break
                self._changed.wait()
        if self._failure:
            raise self._failure

    def timings(self) -> list[Timing]:
        return sorted(self._done.values(), key=lambda timing: timing.began)

    def critical_path(self) -> list[Timing]:
        """The chain of steps that decided how long it took, first to last."""
        path: list[Timing] = []
        latest = max(self._done.values(), key=lambda timing: timing.ended, default=None)
        while latest:
            path.append(latest)
            latest = max((self._done[need] for need in latest.needs), key=lambda timing: timing.ended, default=None)
        return path[::-1]

    def _start_what_can(self) -> None:
        for name, (needs, work) in self._steps.items():
            if name not in self._started and all(need in self._done for need in needs):
                self._started.add(name)
                threading.Thread(target=self._work, args=(name, needs, work), name=name, daemon=True).start()

    def _work(self, name: str, needs: tuple[str, ...], work: Callable[[], None]) -> None:
        began = time.monotonic() - self._origin
        failure: BaseException | None = None
        try:
            with moment(name):
                work()
        except BaseException as error:
            failure = error
        ended = time.monotonic() - self._origin
        debug(f"step {name}: {began:.3f}s to {ended:.3f}s" + (f", failed: {failure}" if failure else ""))
        with self._changed:
            self._done[name] = Timing(name, began, ended, needs)
            self._failure = self._failure or failure
            self._changed.notify()


def table(graph: Graph) -> str:
    """The steps with their times; a star marks the critical path."""
    decisive = {timing.name for timing in graph.critical_path()}
    lines = ["   began    took  step"]
    for timing in graph.timings():
        star = "*" if timing.name in decisive else " "
        lines.append(f"{star} {timing.began:6.2f}s {timing.ended - timing.began:6.2f}s  {timing.name}")
    return "\n".join(lines)
