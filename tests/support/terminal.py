"""A command on a pseudo terminal, with somebody typing."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType


class Terminal:
    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], *, rows: int, columns: int) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

        def own_terminal() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self._process = subprocess.Popen(
            argv, env={**environment, "TERM": "dumb"}, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_terminal
        )
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read_until(self, pattern: str, *, seconds: float = 15) -> str:
        """Everything shown up to now, once it matches."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.shown):
            if not self._read(deadline):
                raise AssertionError(f"{pattern!r} was not shown:\n{self.shown}")
        return self.shown

    def exit_code(self, *, seconds: float = 15) -> int:
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        return self._process.wait(timeout=seconds)

    def _read(self, deadline: float) -> bool:
        readable, _, _ = select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))
        try:
            data = os.read(self._ours, 65536) if readable else b""
        except OSError:  # how Linux says that the other side is closed
            data = b""
        self.shown += data.decode(errors="replace")
        return bool(data)
