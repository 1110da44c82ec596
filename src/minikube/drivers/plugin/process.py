"""A plugin's process: started so that it cannot outlive us, its output drained for life, always reaped."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from minikube.host.process import spawn, tied
from minikube.output.debuglog import debug

# Not a secret: only what tells a plugin that it was not started by hand. It must stay out of our own environment, though:
# every docker-machine or minikube that inherits it takes itself for a plugin.
_TOKEN = {"MACHINE_PLUGIN_TOKEN": "42"}
_LONGEST_LINE_KEPT = 8192
ADDRESS_SECONDS = 10.0
_GRACE_SECONDS = 5.0


class PluginBroken(Exception):
    """The plugin's process does not do what a plugin must: why, in words for the user."""


class PluginProcess:
    """`docker-machine-driver-<name>`, running. Its first line is its address, what follows is its log."""

    def __init__(self, name: str, binary: Path, *, on_words: Callable[[str], None] = lambda _line: None) -> None:
        """`on_words` gets what the plugin says for people to read."""
        self.name = name
        self.binary = binary
        self._on_words = on_words
        self._address: Future[str] = Future()
        self._last_words: deque[str] = deque(maxlen=200)
        self._stopping, self._wake = os.pipe()
        self._process = spawn(
            tied([os.fspath(binary)]),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_TOKEN, "MACHINE_PLUGIN_DRIVER_NAME": name},
            # Ctrl-C is for us: what the plugin is told then, we decide.
            new_session=True,
        )
        self._drain = threading.Thread(target=self._drain_both, name=f"output of {binary.name}", daemon=True)
        self._drain.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def address(self, *, timeout: float = ADDRESS_SECONDS) -> tuple[str, int]:
        """Where the plugin listens."""
        try:
            line = self._address.result(timeout)
        except TimeoutError:
            raise PluginBroken(f"{self.binary.name} did not say within {timeout:g} s where it listens") from None
        except EOFError:
            raise PluginBroken(
                f"{self.how_it_ended() or self.binary.name + ' closed its output'} before it said where it listens"
            ) from None
        host, _, port = line.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise PluginBroken(f'{self.binary.name} said "{line[:200]}" where it must say the address it listens on')
        return host.strip("[]"), int(port)

    def how_it_ended(self, *, wait: float = 1.0) -> str:
        """A sentence about a plugin that has ended, with its own last words; empty if it still runs after that time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        code = self._process.returncode
        if code is None:
            return ""
        self._drain.join(wait)  # a process that it started may hold the pipes open
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        words = list(self._last_words)
        said = next((line for line in words if line.startswith(("panic:", "fatal error:"))), words[-1] if words else "")
        return f"{self.binary.name} {how}" + (f" ({said[:500]})" if said else "")

    def end(self, *, grace: float = _GRACE_SECONDS, asked: bool = False) -> None:
        """See to it that the process is gone; one that was asked to end gets time for that. What it has started itself, a virtual
        machine perhaps, is left alone."""
        gone = asked and self._ended_within(grace)
        if not gone:
            self._process.terminate()
            gone = self._ended_within(grace)
        if not gone:
            self._process.kill()
            self._process.wait()
        if self._wake >= 0:
            os.write(self._wake, b"\0")
            self._drain.join()
            for descriptor in (self._stopping, self._wake):
                os.close(descriptor)
            self._wake = -1

    def _ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            debug(f"{self.binary.name} ({self.pid}) is still there after {seconds:g} s")
            return False
        return True

    def _drain_both(self) -> None:
        """Read whatever comes: a plugin blocks for good on a full pipe."""
        out, err = self._process.stdout, self._process.stderr
        assert out is not None and err is not None  # noqa: S101 - for the type checker: both are pipes
        rests = {out.fileno(): b"", err.fileno(): b""}
        with selectors.DefaultSelector() as ready, out, err:
            ready.register(self._stopping, selectors.EVENT_READ)
            for descriptor in rests:
                os.set_blocking(descriptor, False)
                ready.register(descriptor, selectors.EVENT_READ)
            ending = False
            while len(ready.get_map()) > 1 and not ending:
                found = [key.fd for key, _ in ready.select()]
                ending = self._stopping in found
                for descriptor in rests if ending else found:
                    if descriptor not in ready.get_map() or descriptor == self._stopping:
                        continue
                    if not self._read_lines(descriptor, rests, is_error=descriptor == err.fileno(), all=ending):
                        ready.unregister(descriptor)
                        if descriptor == out.fileno() and not self._address.done():
                            self._address.set_exception(EOFError())
        if not self._address.done():
            self._address.set_exception(EOFError())

    def _read_lines(self, descriptor: int, rests: dict[int, bytes], *, is_error: bool, all: bool) -> bool:
        """Take what is there; False at the end of the stream."""
        while True:
            try:
                chunk = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return True
            *lines, rest = (rests[descriptor] + chunk).split(b"\n")
            if not chunk and rest:
                lines, rest = [rest], b""
            for line in lines:
                self._line(line.decode(errors="replace").strip(), is_error=is_error)
            # A line of any length passes through; only its beginning is kept.
            rests[descriptor] = rest[:_LONGEST_LINE_KEPT]
            if not chunk:
                return False
            if not all:
                return True

    def _line(self, line: str, *, is_error: bool) -> None:
        if not is_error and not self._address.done():
            self._address.set_result(line)
            return
        if not line:
            return
        kept = line[:_LONGEST_LINE_KEPT]
        debug(f"({self.name}) {'DBG | ' if is_error else ''}{kept}")
        if is_error:
            self._last_words.append(kept)
        else:
            self._on_words(kept)
