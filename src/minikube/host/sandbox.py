"""Programs of strangers on this host: in user, network, mount and process namespaces of their own, without any file or network of the host.

A sandbox has an empty root in memory and a loopback interface. Programs come in as open descriptors, files as text; what they write and
what they answer on their loopback is all that comes out. Everything in it ends with the process that made it, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minikube.host import sandboxinit
from minikube.host.process import PIPE, ProcessFailed, spawn
from minikube.output.debuglog import debug
from minikube.output.reason import Reason

_INSIDE = 1000  # who programs are in a user namespace
# Who they are outside if root starts them: numbers that no account has, another one each time.
_OUTSIDE = range(0x7F000000, 0x7FFF0000)


class Ended(NamedTuple):
    """What a program in a sandbox has done so far."""

    code: int | None
    """None while it runs."""
    said: str
    """The end of what it wrote."""


class Sandbox:
    """One that is running. Whatever fails in it is an OSError."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def write(self, name: str, text: str) -> None:
        """A file in the root of the sandbox, for its programs."""
        self._ask({"do": "write", "name": name, "text": text})

    def start(self, program: Path, arguments: Sequence[str]) -> int:
        """Start a program of the host's; its number in there."""
        descriptor = os.open(program, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(None, "is not a program", str(program))
            debug(f"started in a sandbox: {program} {' '.join(arguments)}")
            answer, _ = self._ask({"do": "start", "argv": [program.name, *arguments]}, [descriptor])
        finally:
            os.close(descriptor)
        return int(answer["process"])

    def look_at(self, process: int) -> Ended:
        answer, _ = self._ask({"do": "look", "process": process})
        return Ended(answer["code"], answer["said"])

    def connect(self, port: int) -> socket.socket:
        """A connection to a program that listens on the sandbox's loopback."""
        _, descriptors = self._ask({"do": "connect", "port": port})
        return socket.socket(fileno=descriptors[0])

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        socket.send_fds(self._control, [json.dumps(request).encode()], list(descriptors))
        return _answer(self._control)


@contextlib.contextmanager
def sandbox(*, seconds: float, size: str = "512m", user_namespace: bool = True) -> Iterator[Sandbox]:
    """A sandbox for at most so long. Without a user namespace, where there can be none, it takes root to make one."""
    user = _INSIDE if user_namespace else secrets.choice(_OUTSIDE)
    wish = {"user_namespace": user_namespace, "user": user, "size": size}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            command = [sys.executable, "-I", "-S", sandboxinit.__file__, json.dumps(wish)]
            process = spawn(command, stdin=theirs.fileno(), stderr=PIPE, env={})
        killer = threading.Timer(seconds, process.kill)
        killer.start()
        try:
            try:
                if user_namespace:
                    _answer(ours)
                    _name_users(process.pid, user)
                    ours.send(b"go on")
                _answer(ours)
            except OSError as error:
                if user_namespace and os.geteuid() == 0:
                    debug(f"no sandbox with a user namespace: {error}")
                else:
                    raise _impossible(error) from error
            else:
                yield Sandbox(ours)
                return
        finally:
            killer.cancel()
            process.kill()
            process.communicate()
    with sandbox(seconds=seconds, size=size, user_namespace=False) as weaker:
        yield weaker


def run_in_sandbox(program: Path, arguments: Sequence[str], *, seconds: float) -> str:
    """Run a stranger's program to its end; what it wrote. ProcessFailed if it fails or takes too long."""
    argv = [str(program), *arguments]
    try:
        with sandbox(seconds=seconds) as box:
            process = box.start(program, arguments)
            while (ended := box.look_at(process)).code is None:
                time.sleep(0.02)
    except OSError as error:
        raise ProcessFailed(argv, 124, f"no answer after {seconds:g} s ({error})") from error
    if ended.code:
        raise ProcessFailed(argv, ended.code, ended.said[-4000:])
    return ended.said


def _name_users(process: int, user: int) -> None:
    """Who the first process of a sandbox is outside: nobody if root can choose, else the caller."""
    if os.geteuid() == 0:
        outside = secrets.choice(_OUTSIDE)
        users, groups = outside, outside
    else:
        users, groups = os.geteuid(), os.getegid()
        Path(f"/proc/{process}/setgroups").write_text("deny")
    Path(f"/proc/{process}/uid_map").write_text(f"{user} {users} 1")
    Path(f"/proc/{process}/gid_map").write_text(f"{user} {groups} 1")


def _answer(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, descriptors, flags, _ = socket.recv_fds(control, sandboxinit.MESSAGE, 1)
    if not data:
        raise OSError(None, "the sandbox has ended")
    if flags & socket.MSG_TRUNC:
        raise OSError(None, "the sandbox answers with too much")
    try:
        answer: dict[str, Any] = json.loads(data)
    except ValueError as error:
        raise OSError(None, f"the sandbox answers with what is no JSON ({error})") from error
    if "error" in answer:
        raise OSError(None, answer["error"])
    return answer, descriptors


def _impossible(error: OSError) -> Reason:
    return Reason(
        "HOST_MISSING_CAPABILITY",
        f"programs from elsewhere cannot be kept away from this machine: {error.strerror or error}",
        advice="Allow user namespaces (sysctl user.max_user_namespaces), or run the command as root.",
    )
