"""Long-running build tools: their output line by line, kept in a log, and ended with us."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from minikube.host.process import spawn
from minikube.output.visible import visible

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()
_stopping = threading.Event()


class Stopped(Exception):
    """The whole run is being given up."""


def follow(
    argv: Sequence[str], *, env: Mapping[str, str] | None, cwd: Path, log: Path, on_line: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Run a tool to its end; gives the exit code and the last lines it wrote (stdout and stderr as one)."""
    last: list[str] = []
    with log.open("a", encoding="utf-8", errors="replace", buffering=1) as record, _registered(argv, env, cwd) as process:
        record.write(f"$ {' '.join(argv)}\n")
        assert process.stdout is not None  # noqa: S101 - asked for below
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            record.write(visible(line) + "\n")
            last = [*last[-199:], line]
            on_line(line)
        code = process.wait()
    raise_if_stopping()
    return code, last


def raise_if_stopping() -> None:
    if _stopping.is_set():
        raise Stopped


def stop_all() -> None:
    """End every tool: the run has failed or was interrupted, and half of a build is no use to anyone."""
    _stopping.set()
    with _lock:
        for process in _running:
            process.terminate()


def start_afresh() -> None:
    """A new run may start tools again."""
    _stopping.clear()


@contextlib.contextmanager
def _registered(argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    with _lock:
        raise_if_stopping()
        process = spawn(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=os.fspath(cwd))
        _running.add(process)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        if process.stdout:
            process.stdout.close()
        with _lock:
            _running.discard(process)
