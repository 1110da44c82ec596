"""A process in namespaces like a node's: a directory has owners shifted to them, and one of its calls can wait for an answer."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from minikube.drivers.native import enclosure, podmounts

FIRST, COUNT = 0x7F000000, 1 << 24
NEW_PROCESSES = 0x20000000
WHOLE, PART = "/srv", "/opt"  # where it has directories: with all of its owners, and with root alone

libc = ctypes.CDLL(None, use_errno=True)
Outcome = dict[str, Any]


class SmallNode(NamedTuple):
    process: int
    """Its first one, with the host's number."""
    listener: int
    """For the caller to close; -1 if nothing waits."""
    ask: Callable[[str], Outcome]
    """Have it run a function of mountcalls.py."""


@contextmanager
def small_node(whole: Path, part: Path, *, watched: bool) -> Iterator[SmallNode]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    outer = os.fork()
    if outer == 0:
        _be_the_node(ours, theirs, watched=watched)
    theirs.close()
    listener = -1
    try:
        ours.recv(64)
        for kind in ("uid_map", "gid_map"):
            Path(f"/proc/{outer}/{kind}").write_text(f"0 {FIRST} {COUNT}")
        _give(whole, WHOLE, outer, COUNT)
        _give(part, PART, outer, 1)
        ours.send(b"go")
        if watched:
            _, (listener,), _, _ = socket.recv_fds(ours, 64, 1)
        (first,) = _children(outer)

        def ask(scenario: str) -> Outcome:
            ours.settimeout(30)
            ours.send(scenario.encode())
            outcome: Outcome = json.loads(ours.recv(1 << 16))
            return outcome

        yield SmallNode(first, listener, ask)
    finally:
        ours.close()
        for process in _children(outer):  # also one that is stuck
            os.kill(process, signal.SIGKILL)
        os.waitpid(outer, 0)


def _children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def check(code: int) -> int:
    if code < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return code


def _give(directory: Path, target: str, process: int, count: int) -> None:
    """Mount a directory in the small node, with that many owners shifted to it."""
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            tree = enclosure._clone(str(directory), enclosure._owners(FIRST, count))
            check(libc.setns(os.open(f"/proc/{process}/ns/mnt", os.O_RDONLY), enclosure.NEW_MOUNTS))
            check(libc.syscall(enclosure.MOVE_MOUNT, tree, b"", -100, target.encode(), enclosure.FROM_EMPTY_PATH))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(helper, 0)[1] == 0


def _be_the_node(ours: socket.socket, theirs: socket.socket, *, watched: bool) -> None:
    import support.mountcalls as calls  # while its files can be read

    code = 1
    try:
        ours.close()
        calls.FOREIGN = os.open("/proc/self/ns/user", os.O_RDONLY)
        check(libc.unshare(enclosure.NEW_USERS | enclosure.NEW_MOUNTS | NEW_PROCESSES))
        inner = os.fork()
        if inner == 0:
            _be_its_first_process(theirs, watched=watched)
        code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
    finally:
        os._exit(code)


def _be_its_first_process(host: socket.socket, *, watched: bool) -> None:
    import support.mountcalls as calls

    host.send(b"ready for owners")
    host.recv(64)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    libc.prctl(4, 1, 0, 0, 0)  # its files in /proc are its own again
    # Shared, as in a node: what is mounted over a directory would be seen wherever that directory is.
    check(libc.mount(b"none", b"/", None, enclosure.RECURSIVE | enclosure.PRIVATE, None))
    check(libc.mount(b"none", b"/", None, enclosure.RECURSIVE | (1 << 20), None))
    check(libc.mount(b"proc", b"/proc", b"proc", 0, None))
    if watched:
        listener = _listen()
        socket.send_fds(host, [b"listener"], [listener])
        os.close(listener)
    while scenario := host.recv(1 << 16).decode():
        try:
            outcome: Outcome = {"answer": getattr(calls, scenario)()}
        except OSError as error:
            outcome = {"error": error.errno}
        host.send(json.dumps(outcome).encode())
    os._exit(0)


def _listen() -> int:
    """Have every mount_setattr from now on wait: load the call's number; if it is that, USER_NOTIF, else ALLOW."""
    steps = ((0x20, 0, 0, 0), (0x15, 0, 1, podmounts.MOUNT_SETATTR), (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000))
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    return check(libc.syscall(enclosure.SECCOMP[os.uname().machine], 1, 8, struct.pack("@HP", len(steps), ctypes.addressof(filters))))
