"""Details for whoever looks for a fault: kept out of sight unless the user asks for them."""

from __future__ import annotations

import sys
import time

from minikube.output.secrets import without_secrets
from minikube.output.visible import visible

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable

_sinks: list[Callable[[str], None]] = []


def to_stderr() -> None:
    """Show details on the terminal (`--alsologtostderr`)."""
    _sinks.append(lambda line: print(line, file=sys.stderr, flush=True))


def to_file(descriptor: int) -> None:
    """Keep details in an open file (`logs/lastStart.txt`, `--log_file`)."""
    stream = open(descriptor, "a", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115 - lives as long as the process
    _sinks.append(lambda line: print(line, file=stream))


def debug(message: str) -> None:
    """Record one line with the time, in the shape of Kubernetes' own logs, without passwords and control characters."""
    if not _sinks:
        return
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    line = f"I{stamp}.{int(now % 1 * 1e6):06d} {visible(without_secrets(message))}"
    for sink in list(_sinks):
        try:
            sink(line)
        except (OSError, ValueError):  # a full disk or a closed terminal: details are not worth a command
            _sinks.remove(sink)
