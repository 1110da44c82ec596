# ruff: noqa: PTH123, PTH208
"""Keeps early callers of the API server waiting instead of refusing them. Runs in the node, with the standard library alone:

    python3 -I -S apidoor.py <port> [<name of a process to wait for>]

A kubelet or controller that is refused tries again after a second, two, four …, and so misses the moment at which the API server is
there. Here somebody listens on its port, and never answers, until the API server listens there too (it shares its port). Then this one
goes, and the kernel hands over whoever is waiting (tcp_migrate_req, Linux 5.14; where it cannot, callers are refused as they always were).

On a second start the kubelet asks for its node before it mounts any volume, and a refusal is the answer that lets it go on: then the door
opens only when the API server's process exists, and nothing that has to start before it can be waiting at the door.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable

PATIENCE_SECONDS = 120.0  # longer than any caller waits
HAND_OVER = "/proc/sys/net/ipv4/tcp_migrate_req"
_LISTENING = "0A"


def main(port: int, process: str = "") -> int:
    until = time.monotonic() + PATIENCE_SECONDS
    try:
        with open(HAND_OVER, "w", encoding="ascii") as setting:
            setting.write("1")
        if process and not _wait(lambda: _exists(process), until, every=0.05):
            return 0
        door = _listen(port)
    except OSError as error:
        print(f"callers will not be kept waiting: {error}", file=sys.stderr)
        return 0
    with door:
        # It listens long before it answers, and looking is dear. One that has ended again leaves nobody to wait for.
        _wait(lambda: listeners(port) > 1 or bool(process and not _exists(process)), until, every=0.2)
    return 0


def _wait(condition: Callable[[], bool], until: float, *, every: float) -> bool:
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(every)
    return True


def _exists(process: str) -> bool:
    return any(_name_of(entry) == process for entry in os.listdir("/proc") if entry.isdigit())


def _name_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:  # it has ended
        return ""


def _listen(port: int) -> socket.socket:
    """On all addresses, in the family that a Go program chooses for that: only within one are callers handed over."""
    for family, everywhere in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):  # noqa: S104 - where the API server will listen
        try:
            door = socket.socket(family)
        except OSError:
            continue
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        door.bind((everywhere, port))
        door.listen(1024)
        return door
    raise OSError("no kind of network")


def listeners(port: int) -> int:
    """How many sockets of this network namespace listen on the port."""
    found, ending = 0, f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as stream:
                rows = [line.split() for line in stream]
        except OSError:
            continue
        found += sum(row[1].endswith(ending) and row[3] == _LISTENING for row in rows)
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
