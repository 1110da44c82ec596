# ruff: noqa: PTH110, PTH123, PTH208
"""Keeps early callers of the API server waiting instead of refusing them. Runs in the node, with the standard library alone:

    python3 -I -S apidoor.py <port> <what to ask it for> <file for progress> [again]

A kubelet or controller that is refused tries again after a second, two, four …, and so misses the moment at which the API server is
there. Here somebody listens on its port, and never answers, until the API server listens there too (it shares its port), and knows
everybody's rights: in the tenth of a second before that it turns away whom it will let in, and those, too, come again after a second. Then
this one goes, and the kernel hands over whoever is waiting (tcp_migrate_req, Linux 5.14; where it cannot, callers are refused as they
always were).

On a second start (`again`) the kubelet asks for its node before it mounts any volume, and a refusal is the answer that lets it go on: then
the door opens only when the API server's process exists, and nothing that has to start before it can be waiting at the door.

For the next time it leaves in a file how far the API server had come a moment before it was well, so that others can be there when it is.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable

API_SERVER = "kube-apiserver"
PATIENCE_SECONDS = 120.0  # longer than any caller waits
TRIES = 10
HAND_OVER = "/proc/sys/net/ipv4/tcp_migrate_req"
_LISTENING = "0A"
# Of somebody whose rights are roles, as everybody else's are.
IDENTITY = "/var/lib/minikube/certs/apiserver-kubelet-client"
_ATTACH_FILTER = 51  # SO_ATTACH_REUSEPORT_CBPF
_OWN_ADDRESS = "00000000000000000000000000000001"  # ::1, at which the API server calls itself
QUESTIONS_A_SECOND = 30
# A kubelet that is started now looks in a tenth of a second, which is too early, and again a second later. Nobody knows better than to a
# tenth or two of a second when the API server will be well, and the look after that would be another second later.
MOMENT_SECONDS = 0.85
WELL_SECONDS = 10  # after which callers are better off with whatever the API server says


class Progress:
    """How far a process has come, counted in pages that it has touched: seconds would depend on who else wants the CPU."""

    def __init__(self, name: str) -> None:
        self.name, self.pid, self.seen = name, "", [(0.0, 0)]

    def exists(self) -> bool:
        """Now, or still, once it has been there."""
        self.pid = self.pid or _find(self.name)
        return os.path.exists(f"/proc/{self.pid}") if self.pid else False

    def look(self) -> None:
        if self.exists() and (pages := pages_touched(self.pid)):
            self.seen.append((time.monotonic(), pages))

    def ago(self, seconds: float, now: float) -> int:
        """How far it had come so many seconds ago; 0 if nobody looked."""
        later = next((place for place, (moment, _) in enumerate(self.seen) if moment > now - seconds), 0)
        if later < 2:
            return 0
        (before, less), (after, more) = self.seen[later - 1 : later + 1]
        return round(less + (more - less) * (now - seconds - before) / (after - before))


def main(number: str, question: str, place: str, again: str = "") -> int:
    port = int(number)
    until = time.monotonic() + PATIENCE_SECONDS
    progress = Progress(API_SERVER)
    try:
        with open(HAND_OVER, "w", encoding="ascii") as setting:
            setting.write("1")
        if again and not _wait(progress.exists, until, every=0.05):
            return 0
        door, position = _open(port)
    except OSError as error:
        print(f"callers will not be kept waiting: {error}", file=sys.stderr)
        return 0
    with door:
        selective = _lead_in(door, position)

        def listens() -> bool:
            """It does long before it answers. One that has ended again leaves nobody to wait for."""
            progress.look()
            return bool(progress.pid) and (position > 0 or not progress.exists() or listeners(port) > 1)

        _wait(listens, until, every=0.1)
        if selective and _wait_until_well(port, question, progress):
            _leave_word(place, progress.ago(MOMENT_SECONDS, time.monotonic()))
    return 0


def _wait(condition: Callable[[], bool], until: float, *, every: float) -> bool:
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(every)
    return True


def _wait_until_well(port: int, question: str, progress: Progress) -> bool:
    """Ask one question again and again, by one connection, which gets its first answer when the API server has any."""
    identity = ["--cert", f"{IDENTITY}.crt", "--key", f"{IDENTITY}.key"]
    questions = f"https://[::1]:{port}{question}&question=[1-{WELL_SECONDS * QUESTIONS_A_SECOND}]"
    answers = ["--output", "/dev/null", "--write-out", "%{stderr}%{http_code}\\n"]
    ask = ["curl", "--silent", "--insecure", *identity, *answers, "--rate", f"{QUESTIONS_A_SECOND}/s", questions]
    with subprocess.Popen(["timeout", str(WELL_SECONDS), *ask], stderr=subprocess.PIPE, bufsize=0) as asking:
        code = b""
        while asking.stderr and code != b"200\n":
            progress.look()
            if select.select([asking.stderr], [], [], 0.1)[0] and not (code := asking.stderr.readline()):
                break
        asking.terminate()
    if code != b"200\n":
        print(f"callers are let in before the API server was well: whoever asked it ended with {asking.returncode}", file=sys.stderr)
    return code == b"200\n"


def _leave_word(place: str, pages: int) -> None:
    with open(place, "w", encoding="ascii") as stream:
        stream.write(str(pages))


def pages_touched(pid: str) -> int:
    """By a process that runs, else 0."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return int(stream.read().rpartition(")")[2].split()[7])  # minor faults
    except OSError:
        return 0


def _find(process: str) -> str:
    return next((entry for entry in os.listdir("/proc") if entry.isdigit() and _name_of(entry) == process), "")


def _name_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:  # it has ended
        return ""


def _open(port: int) -> tuple[socket.socket, int]:
    """The door, and how many listened before it: the API server may be one, and the kernel counts them in that order."""
    for _ in range(TRIES):
        before = listeners(port, "tcp6")
        door = _listen(port)
        if door.family != socket.AF_INET6 or listeners(port, "tcp6") == before + 1:
            return door, before
        door.close()  # somebody came meanwhile, before or after
    raise OSError("nobody knows who came first")


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


def _lead_in(door: socket.socket, position: int) -> bool:
    """Of all who share a port, the kernel would choose one for each caller by chance. Have it choose the door, one of the first two.

    Only callers with IPv6 get past it: the API server must be able to call itself. Where it would do that otherwise, leave it to chance.
    """
    if door.family != socket.AF_INET6 or not _calls_itself_by_ipv6() or position > 1:
        return False
    import ctypes

    load_byte, mask, equals, give = 0x30, 0x54, 0x15, 0x06  # of the kernel's classic packet filters
    version = 0xFFF00000  # SKF_NET_OFF: where the packet says which version of IP it is
    program = ((load_byte, 0, 0, version), (mask, 0, 0, 0xF0), (equals, 0, 1, 0x60), (give, 0, 0, 1 - position), (give, 0, 0, position))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    try:
        door.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("@HP", len(program), ctypes.addressof(code)))
    except OSError:
        return False
    return True


def _calls_itself_by_ipv6() -> bool:
    try:
        with open("/proc/net/if_inet6", encoding="ascii") as addresses:
            return _OWN_ADDRESS in addresses.read()
    except OSError:  # no IPv6 at all
        return False


def listeners(port: int, *tables: str) -> int:
    """How many sockets of this network namespace listen on the port. Looking is dear: milliseconds for each table, even an empty one."""
    found, ending = 0, f":{port:04X}"
    for table in tables or ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{table}", encoding="ascii") as stream:
                rows = [line.split() for line in stream]
        except OSError:
            continue
        found += sum(row[1].endswith(ending) and row[3] == _LISTENING for row in rows)
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
