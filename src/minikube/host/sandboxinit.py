"""A program: the first process of a sandbox (sandbox.py), which starts others in there and speaks for them over a socket, its stdin.

    sandboxinit.py {"user_namespace": …, "user": …, "size": …}

It makes its namespaces, an empty root in memory and a loopback interface, and then does what it is asked. What it starts has no
capability, no way to get any, and no file of the host: not even that of the program, which comes as an open descriptor.
It stands on nothing but Python's own library, all of it imported before the root is empty.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

MESSAGE = 128 << 10
"""Bytes in a message, at most."""
_LOG = 64 << 10  # bytes at the end of what a program wrote
_LARGEST_FILE = 512 << 20
_PROCESSES = 4096
_CLOSE_ON_EXEC = 0x40000000  # MSG_CMSG_CLOEXEC

_NEW_MOUNTS, _NEW_CONTROL_GROUPS, _NEW_NAMES, _NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEW_USERS, _NEW_PROCESSES, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS, _MOVE, _RECURSIVE, _PRIVATE, _DETACH = 0x2, 0x4, 0x8, 0x2000, 0x4000, 0x40000, 0x2
_SET_PARENT_DEATH_SIGNAL, _DROP_BOUNDING, _NO_NEW_PRIVILEGES = 1, 24, 38
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1

_libc = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    wish = json.loads(words[0])
    with socket.socket(fileno=os.dup(0)) as control:
        try:
            _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(nothing, 0)
            if wish["user_namespace"]:
                _become_nobody(control, wish["user"])
            _done(_libc.unshare(_NEW_MOUNTS | _NEW_NETWORK | _NEW_PROCESSES | _NEW_IPC | _NEW_NAMES), "namespaces")
            child = os.fork()
            if child:
                control.close()
                os.waitpid(child, 0)
                return
            _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            _empty_root(wish["size"])
            os.chown("/", wish["user"], wish["user"])
            _raise_loopback()
        except OSError as error:
            _send(control, {"error": f"{error.filename}: {error.strerror}"})
            return
        _send(control, {"ready": True})
        _Host(control, wish["user"], nothing).serve()


class _Host:
    """What is asked for over the socket, until that is closed."""

    def __init__(self, control: socket.socket, user: int, nothing: int) -> None:
        self._control, self._user, self._nothing = control, user, nothing
        self._logs: dict[int, int] = {}
        self._codes: dict[int, int] = {}

    def serve(self) -> None:
        while True:
            data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE, 1, _CLOSE_ON_EXEC)
            if not data:
                return
            request = json.loads(data)
            try:
                answer, given = self._answer(request, descriptors)
            except OSError as error:
                answer, given = {"error": f"{error.filename or request['do']}: {error.strerror}"}, []
            _send(self._control, answer, given)
            for descriptor in (*descriptors, *given):
                os.close(descriptor)

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> tuple[dict[str, Any], list[int]]:
        what = request["do"]
        if what == "write":
            file = os.open(f"/{request['name']}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.write(file, request["text"].encode())
            os.fchown(file, self._user, self._user)
            os.close(file)
            return {}, []
        if what == "start":
            return {"process": self._start(descriptors[0], request["argv"])}, []
        if what == "connect":
            attempt = socket.socket()
            attempt.connect(("127.0.0.1", request["port"]))
            return {}, [attempt.detach()]
        self._collect()
        log = self._logs[request["process"]]
        end = os.fstat(log).st_size
        said = os.pread(log, _LOG, max(end - _LOG, 0)).decode("ascii", "replace").replace("\ufffd", "?")
        answer = {"code": self._codes.get(request["process"]), "said": said}
        while len(json.dumps(answer)) > MESSAGE:  # a control character takes up to six
            said = answer["said"] = said[len(said) // 2 :]
        return answer, []

    def _start(self, program: int, argv: list[str]) -> int:
        log = os.open("/", os.O_TMPFILE | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        child = os.fork()
        if child == 0:
            _become_program(program, argv, self._user, self._nothing, log)
        self._logs[child] = log
        return child

    def _collect(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            self._codes[process] = os.waitstatus_to_exitcode(status)


def _become_program(program: int, argv: list[str], user: int, nothing: int, log: int) -> NoReturn:
    try:
        os.setsid()
        for target, source in enumerate((nothing, log, log)):
            os.dup2(source, target)
        for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, _LARGEST_FILE), (resource.RLIMIT_NPROC, _PROCESSES)):
            resource.setrlimit(limit, (most, most))
        capability = 0
        while _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0) == 0:
            capability += 1
        if os.getuid() != user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        _done(_libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)), "no capabilities")
        _done(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
        os.execve(program, argv, {"HOME": "/", "TMPDIR": "/"})  # noqa: S606 - what this program exists for
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(126)


def _become_nobody(control: socket.socket, user: int) -> None:
    """In a user namespace, where this process may do everything, to nothing of the host. The starter says who it is outside."""
    _done(_libc.unshare(_NEW_USERS), "a user namespace")
    _send(control, {"users": True})
    control.recv(MESSAGE)
    if os.getuid() != user:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _empty_root(size: str) -> None:
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    place = "/tmp"  # noqa: S108 - any directory, in this mount namespace
    _mount("sandbox", place, "tmpfs", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS, f"size={size},nr_inodes=100k,mode=700")
    os.chdir(place)
    if _libc.pivot_root(b".", b".") == 0:
        _done(_libc.umount2(b".", _DETACH), "the host's root, put away")
    else:  # the root of an initial RAM disk cannot be put away
        _mount(".", "/", "", _MOVE)
        os.chroot(".")
    os.chdir("/")
    # Kubernetes' programs look here for a way out of this machine: there is none.
    os.umask(0o022)
    for name in ("/proc", "/proc/net"):
        os.mkdir(name)  # noqa: PTH102
    for name in ("route", "ipv6_route"):
        os.close(os.open(f"/proc/net/{name}", os.O_CREAT, 0o444))


def _raise_loopback() -> None:
    with socket.socket() as any_socket:
        request = array.array("B", struct.pack("16sh14x", b"lo", 0))
        fcntl.ioctl(any_socket, _GET_FLAGS, request)
        (flags,) = struct.unpack_from("h", request, 16)
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    code = _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _done(code, f"{kind or 'mounts'} on {target}")


def _send(control: socket.socket, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], descriptors or [])


def _done(code: int, what: str) -> None:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    main(sys.argv[1:])
