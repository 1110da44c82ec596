"""A node that lies: its supervisor, its programs, its archives and its files all answer as an attacker would have them.

`HostileNode` takes the place of a running native node, so that every command can be run against it without a cluster. `LIES` is what
its supervisor says, `ARCHIVES` what its tar writes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import socket
import stat
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Request = dict[str, Any]


class Caller:
    """One connection to the hostile supervisor: what was asked, and the streams that came with it."""

    def __init__(self, peer: socket.socket, over: threading.Event) -> None:
        self.peer, self.over = peer, over
        data, self.streams, _, _ = socket.recv_fds(peer, 1 << 20, 3)
        while data and not data.endswith(b"\n"):
            more = peer.recv(1 << 20)
            data += more
            if not more:
                break
        self.request: Request = json.loads(data) if data else {}

    @property
    def verb(self) -> str:
        return str(self.request.get("verb", ""))

    def say(self, message: object) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        self.peer.sendall(data)

    def write(self, data: bytes, stream: int = 1) -> None:
        """As the program that was asked for."""
        with contextlib.suppress(OSError, IndexError):
            view = memoryview(data)
            while view and not self.over.is_set():
                view = view[os.write(self.streams[stream], view[: 1 << 16]) :]

    def close(self) -> None:
        for descriptor in self.streams:
            os.close(descriptor)
        self.peer.close()


def truthful(caller: Caller) -> bool:
    """What every other lie builds on: a node that seems to run. True if that was all that was asked."""
    if caller.verb == "status":
        caller.say({"ok": True, "stopping": False, "services": {"kubelet": {"state": "running"}}})
    elif caller.verb != "exec":
        caller.say({"ok": True})
    else:
        caller.say({"ok": True, "pid": 7})
        return False
    return True


def _commands(output: bytes, *, code: object = 0, errors: bytes = b"") -> Callable[[Caller], None]:
    """Status is as it should be; every command writes this, and ends like that."""

    def lie(caller: Caller) -> None:
        if not truthful(caller):
            caller.write(output)
            caller.write(errors, 2)
            caller.say({"exit": code})

    return lie


def _more_descriptors(caller: Caller) -> None:
    files = [os.open("/dev/null", os.O_RDWR) for _ in range(20)]
    socket.send_fds(caller.peer, [b'{"ok": true, "services": {}, "pid": 1}\n'], files)
    for file in files:
        os.close(file)
    caller.say({"exit": 0})


def _endless(caller: Caller) -> None:
    """A command that has ended and left somebody who writes for ever."""
    if not truthful(caller):
        caller.say({"exit": 0})
        end = time.monotonic() + 20
        while not caller.over.is_set() and time.monotonic() < end:
            os.set_blocking(caller.streams[1], False)
            with contextlib.suppress(BlockingIOError):
                os.write(caller.streams[1], b"y\n" * 30000)


DEEP = b"[" * 200_000
LIES: dict[str, Callable[[Caller], None]] = {
    "no json": lambda caller: caller.raw(b"\xff\xfe hello\n"),
    "a list": lambda caller: caller.say([1, 2]),
    "nothing but a newline": lambda caller: caller.raw(b"\n"),
    "deeper than any parser": lambda caller: caller.raw(DEEP + b"\n"),
    "a line without end": lambda caller: caller.raw(b"a" * (3 << 20)),
    "closed at once": lambda caller: None,
    "no fields": lambda caller: caller.say({"ok": True}),
    "fields of other types": lambda caller: caller.say({"ok": True, "services": [1], "stopping": "", "pid": [], "exit": {"a": 1}}),
    "services of other types": lambda caller: caller.say({"ok": True, "services": {"kubelet": 5}, "stopping": False}),
    "a refusal with a book": lambda caller: caller.say({"ok": False, "error": "x" * 500_000}),
    "a refusal that is no text": lambda caller: caller.say({"ok": False, "error": {"a": [1]}}),
    "twenty descriptors": _more_descriptors,
    "exit that is no number": _commands(b"", code="0"),
    "exit that is huge": _commands(b"", code=10**30),
    "commands write nothing": _commands(b""),
    "commands write noise": _commands(random.Random(1).randbytes(100_000), errors=random.Random(2).randbytes(1000)),
    "commands write zeros": _commands(b"\0" * 100_001),
    "commands write json of another kind": _commands(b'{"images": [{"id": 5}, []]}'),
    "commands write deep json": _commands(DEEP),
    "a background process writes for ever": _endless,
}


def member(name: str, content: bytes = b"evil", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry, content


def archive(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.GNU_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as made:
        for entry, content in members:
            made.addfile(entry, io.BytesIO(content) if entry.isreg() else None)
    return stream.getvalue()


def _negative_size() -> bytes:
    """CVE-2025-8194: an archive that some Pythons never get to the end of."""
    data = bytearray(archive(member("etc/asked/a", b"x" * 600), member("etc/asked/b", b"y")))
    second = 512 + 1024
    data[second + 124 : second + 136] = b"\xff" * 10 + (-1024 & 0xFFFF).to_bytes(2, "big")
    block = bytes(data[second : second + 148]) + b" " * 8 + bytes(data[second + 156 : second + 512])
    data[second + 148 : second + 156] = f"{sum(block):06o}\0 ".encode()
    return bytes(data)


ARCHIVES = {
    "up and out": archive(member("../../../tmp/evil")),
    "up within": archive(member("etc/asked/../../evil")),
    "absolute": archive(member("/etc/cron.d/evil")),
    "beside what was asked for": archive(member("etc/other")),
    "a longer name": archive(member("etc/asked-not")),
    "a name that is almost it": archive(member("etc/asked/../other")),
    "long name": archive(member("etc/" + "x" * 4000 + "/../../../evil")),
    "pax name": archive(member("etc/asked/ü" + "/.." * 80 + "/evil"), format=tarfile.PAX_FORMAT),
    "no archive": b"this is no archive at all" * 100,
    "cut short": archive(member("etc/asked/a", b"x" * 5000))[:2000],
    "negative size": _negative_size(),
    "bytes after": archive(member("etc/asked/a")) + b"\xff" * 4096,
    "two hundred links": archive(*(member(f"etc/asked/{n}", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd") for n in range(200))),
    "hard link": archive(member("etc/asked/a", b"", type=tarfile.LNKTYPE, linkname="etc/shadow")),
    "device": archive(member("etc/asked/a", b"", type=tarfile.BLKTYPE, devmajor=8, devminor=0)),
    "setuid": archive(member("etc/asked/a", b"evil", mode=0o7777)),
}


class HostileNode:
    """Listens where a native machine's supervisor would; `lie` decides what it says."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "control.sock"
        self.lie: Callable[[Caller], None] = truthful  # type: ignore[assignment]
        self._over = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        place = os.open(directory, os.O_PATH)  # a socket's path may have 107 bytes only
        self._listener.bind(f"/proc/self/fd/{place}/{self.socket.name}")
        os.close(place)
        self._listener.listen(50)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(peer,), daemon=True).start()

    def _answer(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            caller = Caller(peer, self._over)
            try:
                self.lie(caller)
            finally:
                caller.close()

    def close(self) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextlib.contextmanager
def hostile_machine(home: Path, name: str) -> Iterator[HostileNode]:
    """A native machine of this home that seems to run, with a hostile node in it."""
    machine = home / "machines" / name
    (machine / "run").mkdir(parents=True)
    (machine / "state/etc").mkdir(parents=True)
    facts = {"subnet": "192.0.2.0/24", "limits": {"cpus": 2, "memory_mb": 2000, "pids": 100}, "enclosure": {"first": os.geteuid()}}
    (machine / "native.json").write_text(json.dumps(facts))
    node = HostileNode(machine / "run")
    try:
        yield node
    finally:
        node.close()


def fingerprint(*places: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below these places: what must be the same after a command."""
    found = {}
    for place in places:
        for path in [place, *place.rglob("*")]:
            about = path.lstat()
            found[str(path)] = (about.st_mode, about.st_uid, path.read_bytes() if stat.S_ISREG(about.st_mode) else b"")
    return found
