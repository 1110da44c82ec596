"""A TLS socket for a server that is not trusted: its timeout is for all that is read until the next one is set."""

from __future__ import annotations

import ssl
import time
from typing import Any


class TimedSocket(ssl.SSLSocket):
    """Python's begins again with each byte, so that a slow server could hold a caller for ever. urllib3 sets one for each request."""

    _end: float | None = None

    def settimeout(self, value: float | None, /) -> None:
        self._end = None if value is None else time.monotonic() + value
        super().settimeout(value)

    def recv_into(self, *args: Any, **more: Any) -> int:
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer takes too long")
            super().settimeout(left)
        return super().recv_into(*args, **more)
