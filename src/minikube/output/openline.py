"""The line of the step that is going on: on a terminal it stays open, and ends with the time the step took."""

from __future__ import annotations

import sys

from minikube.output.visible import unguarded

_WORTH_SAYING = 0.1  # seconds


class OpenLine:
    """At most one line is open. Whoever writes to the terminal ends it first."""

    def __init__(self) -> None:
        import threading

        self._lock = threading.Lock()
        self._since: float | None = None

    def begin(self, text: str) -> None:
        from time import monotonic

        with self._lock:
            self._end()
            unguarded(sys.stdout).write(text)
            sys.stdout.flush()
            self._since = monotonic()

    def end(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        from time import monotonic

        if self._since is None:
            return
        seconds = monotonic() - self._since
        self._since = None
        sys.stdout.write(f" ({seconds:.1f} s)\n" if seconds >= _WORTH_SAYING else "\n")
        sys.stdout.flush()
