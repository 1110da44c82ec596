"""A program, run as root on the host: gives mounts of pods with `hostUsers: false` their owners, in a node that is in a user namespace.

The kernel lets only the owner of a file system say that its files belong to others in a mount (`mount_setattr`), and that of the node's
disk is the host. So that one call of anybody in the node waits until it has been looked at here. What the node's own runtime may have is
done for it; everything else the kernel decides, as if nobody had looked.

    podmounts.py <machine directory> <pid of the node's first process> <directory to cover> < listener

It ends with the node. Nothing of a caller is believed that the caller could still change: the arguments are read once, and from then on
only descriptors of our own count. It stands on nothing but Python's own library: any Python runs it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import signal
import struct
import sys
import time
from errno import ENOENT
from fcntl import ioctl

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Sequence

RECEIVE, SEND, IS_VALID = 0xC0502100, 0xC0182101, 0x40082102  # SECCOMP_IOCTL_NOTIF_*
NOTIFICATION = struct.Struct("=QIIiIQ6Q")  # id, thread, flags; call, architecture, instruction, arguments
ATTRIBUTES = struct.Struct("=4Q")  # struct mount_attr: set, clear, propagation, user namespace
DONE, CONTINUE = 0, 1
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# The same numbers on every architecture.
OPEN_TREE, MOVE_MOUNT, PIDFD_GETFD, MOUNT_SETATTR, STATMOUNT, LISTMOUNT, OPEN_TREE_ATTR = 428, 429, 438, 442, 457, 458, 467
CLONE, EMPTY_PATH, WHOLE_TREE, FROM_TO_DESCRIPTORS = 0x1, 0x1000, 0x8000, 0x44
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC, IDMAP = 0x1, 0x2, 0x4, 0x8, 0x100000
NEW_MOUNTS, NEW_USERS, PARENT, KIND = 0x20000, 0x10000000, 0xB702, 0xB703
BIND, RECURSIVE, PRIVATE, DETACH = 0x1000, 0x4000, 0x40000, 0x2
ALL_MOUNTS, NUMBERS, MAPS, MAPS_AT, TEXTS_AT = (1 << 64) - 1, 0x2, 0x2000 | 0x4000, 152, 512  # of statmount
UNIQUE_ID, MOUNT_ROOT = 0x4000, 0x2000  # of statx
SYS_ADMIN = 1 << 21

DIRECTORY, FILE = "directory", "file"  # where a mount is attached to be looked at
PATIENCE = 3  # seconds for one call, whose memory may be of a file system that does not answer
# A flood of calls must not become a load on the host, but crun makes seven for a container without need of us, and a node has many.
UNPAUSED, UNPAUSED_A_SECOND = 1000, 50  # refusals without a pause, as long as there are any left, and how many more each second
PAUSE = 0.005  # seconds, after any other refusal

_libc = ctypes.CDLL(None, use_errno=True)


class NotOurs(Exception):
    """A call that the kernel is to decide by itself."""


class Allowance:
    """Of refusals without a pause."""

    def __init__(self, now: float) -> None:
        self.left, self.at = float(UNPAUSED), now

    def spend(self, now: float) -> bool:
        """Take one, if there is any."""
        self.left, self.at = min(self.left + (now - self.at) * UNPAUSED_A_SECOND, UNPAUSED), now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class Node:
    """What tells the node's runtime and mounts from everybody else's."""

    def __init__(self, process: int) -> None:
        self.first = process
        self.users = os.open(f"/proc/{process}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        self.owners = _identity(self.users)
        self.processes = _identity(f"/proc/{process}/ns/pid")
        self.maps = tuple(_extents(_read(f"/proc/{process}/{kind}")) for kind in ("uid_map", "gid_map"))


def main(words: list[str]) -> None:
    listener, node = 0, Node(int(words[2]))
    _forget_the_host(words[3])
    in_hand = mmap.mmap(-1, mmap.PAGESIZE)  # more than 1024 bytes, so that the kernel writes there itself
    # A guard and a worker. If the worker dies, by a call it was stuck in or by anybody's hand, that call goes on and so do the next.
    while (worker := os.fork()) and os.waitpid(worker, 0)[1]:
        _answer(listener, int.from_bytes(in_hand[:8], sys.byteorder), CONTINUE)
        time.sleep(0.2)
    if worker == 0:
        Worker(listener, node, in_hand).serve()


def _forget_the_host(place: str) -> None:
    """Have no file of the host in sight but /proc, and hold none of its mounts."""
    _done(_libc.unshare(NEW_MOUNTS))
    _mount(b"none", b"/", b"", RECURSIVE | PRIVATE)
    _mount(b"minikube", os.fsencode(place), b"tmpfs")
    os.chdir(place)
    for name in ("proc", DIRECTORY):
        os.mkdir(name)  # noqa: PTH102
    os.close(os.open(FILE, os.O_CREAT | os.O_WRONLY))
    _mount(b"/proc", b"proc", b"", BIND | RECURSIVE)
    if _libc.pivot_root(b".", b".") == 0:
        _done(_libc.umount2(b".", DETACH))
    else:  # the host runs from its initial ramdisk
        os.chroot(".")
    os.chdir("/")


def _answer(listener: int, call: int, verdict: int) -> None:
    """Let a caller go: its call has succeeded, or the kernel decides."""
    try:
        ioctl(listener, SEND, struct.pack("=QqiI", call, 0, 0, verdict))
    except OSError:
        return  # the caller is gone, or has its answer


class Visit:
    """A moment in the caller's mount namespace, where no path may be looked at: they are the node's."""

    def __init__(self, home: int, there: int) -> None:
        self.home, self.there = home, there

    def __enter__(self) -> None:
        _done(_libc.setns(self.there, NEW_MOUNTS))

    def __exit__(self, *_: object) -> None:
        if _libc.setns(self.home, NEW_MOUNTS):
            os._exit(1)  # the guard starts another, at home


class Worker:
    def __init__(self, listener: int, node: Node, in_hand: mmap.mmap) -> None:
        self.listener, self.node, self.in_hand = listener, node, in_hand
        self.architecture = ARCHITECTURES.get(os.uname().machine)
        _done(_libc.unshare(NEW_MOUNTS))  # whatever it leaves attached goes with it
        self.home = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self.places = {name: os.open(f"/{name}", os.O_PATH | os.O_CLOEXEC) for name in (DIRECTORY, FILE)}
        _done(_libc.setns(self.home, NEW_MOUNTS))  # to see from now on what is seen after a visit
        self.known = set(_mounts())
        self.last: tuple[int, ...] = ()

    def serve(self) -> None:
        calls = select.poll()
        calls.register(self.listener, select.POLLIN)
        allowance = Allowance(time.monotonic())
        while calls.poll()[0][1] & select.POLLIN:  # otherwise the node has ended
            self.in_hand[: NOTIFICATION.size] = bytes(NOTIFICATION.size)  # or the kernel says no
            try:
                ioctl(self.listener, RECEIVE, self.in_hand)
            except OSError:  # a signal has taken the caller out of its call
                continue
            signal.alarm(PATIENCE)
            call, *rest = NOTIFICATION.unpack_from(self.in_hand)
            verdict = self.decide(call, *rest)
            _answer(self.listener, call, verdict)
            signal.alarm(0)
            if verdict == CONTINUE and not allowance.spend(time.monotonic()):
                time.sleep(PAUSE)

    def decide(self, call: int, thread: int, _flags: int, number: int, architecture: int, _at: int, *arguments: int) -> int:
        opened: list[int] = []
        try:
            if number == MOUNT_SETATTR and architecture == self.architecture:
                self._perform(call, thread, arguments, opened)
                return DONE
        except (NotOurs, OSError, ValueError, OverflowError):
            pass
        finally:
            for descriptor in opened:
                os.close(descriptor)
        return CONTINUE

    def _perform(self, call: int, thread: int, arguments: Sequence[int], opened: list[int]) -> None:
        def keep(descriptor: int) -> int:
            opened.append(descriptor)
            return descriptor

        tree, path, flags, attributes, size = arguments[:5]
        if flags & ~WHOLE_TREE != EMPTY_PATH or size != ATTRIBUTES.size or tree >= 1 << 31:
            raise NotOurs
        caller = keep(os.pidfd_open(thread, os.O_EXCL))  # of the thread, not of its process
        memory = keep(os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC))
        mounts = keep(os.open(f"/proc/{thread}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC))
        trusted = self._is_runtime(thread)
        ioctl(self.listener, IS_VALID, call.to_bytes(8, sys.byteorder))  # so all of this was the caller's, and not its successor's
        if not trusted or os.pread(memory, 1, path) != b"\0":
            raise NotOurs
        wanted, cleared, propagation, owners = ATTRIBUTES.unpack(os.pread(memory, ATTRIBUTES.size, attributes))
        if not wanted & IDMAP or wanted & ~(IDMAP | READ_ONLY | NO_SUID | NO_DEV | NO_EXEC) or cleared or propagation not in (0, PRIVATE):
            raise NotOurs
        if owners >= 1 << 31:
            raise NotOurs
        users = keep(_done(_libc.syscall(PIDFD_GETFD, caller, owners, 0)))
        self._require_descendant(users)
        source = keep(_done(_libc.syscall(PIDFD_GETFD, caller, tree, 0)))
        request = (self._number(source, mounts), os.fstat(users).st_ino, wanted, propagation, flags)
        if request == self.last:  # a signal took the caller out of its call before it had the answer
            return
        copy = keep(self._copy(source, mounts))
        mapped = keep(self._mapped(copy, ATTRIBUTES.pack(wanted, IDMAP, propagation, users), whole=bool(flags & WHOLE_TREE)))
        self._cover(source, mapped, mounts)
        self.last = request

    def _is_runtime(self, thread: int) -> bool:
        """In the node itself, and with every right of its first process. A pod that has both is the node's root anyway."""
        place = f"/proc/{thread}/ns"
        if (_identity(f"{place}/user"), _identity(f"{place}/pid")) != (self.node.owners, self.node.processes):
            return False
        needed = _rights(self.node.first) | SYS_ADMIN
        return _rights(thread) & needed == needed

    def _require_descendant(self, users: int) -> None:
        """A user namespace below the node's: whoever is in it has no id that is not the node's."""
        if os.fstat(users).st_dev != self.node.owners[0] or ioctl(users, KIND) != NEW_USERS:
            raise NotOurs
        above = os.dup(users)
        while True:
            try:
                parent = ioctl(above, PARENT)  # the host's own has none
            finally:
                os.close(above)
            above = parent
            if _identity(above) == self.node.owners:
                os.close(above)
                return

    def _number(self, source: int, mounts: int) -> int:
        """The caller's mount, if it is one that it has made and not attached yet: others cannot be given other owners."""
        answer = ctypes.create_string_buffer(TEXTS_AT)
        _done(_libc.statx(source, b"", EMPTY_PATH, UNIQUE_ID, answer))
        (kinds,), (number,) = struct.unpack_from("=Q", answer, 8), struct.unpack_from("=Q", answer, 144)
        with Visit(self.home, mounts):
            known = _libc.syscall(STATMOUNT, struct.pack("=IIQQ", 24, 0, number, NUMBERS), answer, len(answer), 0)
            unknown = known < 0 and ctypes.get_errno() == ENOENT
        if not unknown or not kinds & MOUNT_ROOT:
            raise NotOurs
        return int(number)

    def _copy(self, source: int, mounts: int) -> int:
        """A clone of the caller's tree that nobody else has. It can only be made where the tree comes from."""
        with Visit(self.home, mounts):
            copy = _done(_libc.syscall(OPEN_TREE, source, b"", CLONE | os.O_CLOEXEC | EMPTY_PATH | WHOLE_TREE))
        _make_private(copy)
        return copy

    def _cover(self, source: int, mapped: int, mounts: int) -> None:
        """Put the mount with other owners over the caller's own, which goes wherever that goes.

        It cannot take its place: the kernel lets us put no descriptor of a mount into another process.
        """
        _make_private(source)  # or it would cover the directory it was cloned from as well
        with Visit(self.home, mounts):
            _done(_libc.syscall(MOVE_MOUNT, mapped, b"", source, b"", FROM_TO_DESCRIPTORS))

    def _mapped(self, copy: int, change: bytes, *, whole: bool) -> int:
        """The same tree with the pod's owners, if every mount of it has those of the node now: it can do there what it likes anyway."""
        place = self.places[DIRECTORY if os.fstat(copy).st_mode & 0o170000 == 0o040000 else FILE]
        _done(_libc.syscall(MOVE_MOUNT, copy, b"", place, b"", FROM_TO_DESCRIPTORS))
        try:
            found = set(_mounts()) - self.known
            if any(_maps(mount) != self.node.maps for mount in found) or (len(found) > 1 and not whole):
                raise NotOurs
            flags = CLONE | os.O_CLOEXEC | EMPTY_PATH | WHOLE_TREE
            return _done(_libc.syscall(OPEN_TREE_ATTR, copy, b"", flags, change, len(change)))
        finally:
            _done(_libc.umount2(f"/proc/self/fd/{copy}".encode(), DETACH))


def _make_private(tree: int) -> None:
    alone = ATTRIBUTES.pack(0, 0, PRIVATE, 0)
    _done(_libc.syscall(MOUNT_SETATTR, tree, b"", EMPTY_PATH | WHOLE_TREE, alone, len(alone)))


def _mounts() -> list[int]:
    """All mounts of this mount namespace."""
    request, found = struct.pack("=IIQQ", 24, 0, ALL_MOUNTS, 0), (ctypes.c_uint64 * 4096)()
    count = _done(_libc.syscall(LISTMOUNT, request, found, len(found), 0))
    if count == len(found):
        raise NotOurs
    return list(found[:count])


def _maps(mount: int) -> tuple[tuple[int, ...], ...]:
    """Owners on disk, owners in the mount, how many, and so on: of users, and of groups. Empty where nothing is shifted."""
    answer = ctypes.create_string_buffer(1 << 14)
    _done(_libc.syscall(STATMOUNT, struct.pack("=IIQQ", 24, 0, mount, MAPS), answer, len(answer), 0))
    tables = struct.unpack_from("=4I", answer, MAPS_AT)
    return tuple(_extents(_texts(answer.raw, number, offset)) for number, offset in (tables[:2], tables[2:]))


def _texts(answer: bytes, count: int, offset: int) -> str:
    return b" ".join(answer[TEXTS_AT + offset :].split(b"\0")[:count]).decode()


def _extents(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def _rights(thread: int) -> int:
    (line,) = (line for line in _read(f"/proc/{thread}/status").splitlines() if line.startswith("CapEff:"))
    return int(line.split()[1], 16)


def _identity(file: str | int) -> tuple[int, int]:
    status = os.stat(file)  # noqa: PTH116
    return status.st_dev, status.st_ino


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
        return stream.read()


def _mount(source: bytes, target: bytes, kind: bytes, flags: int = 0) -> None:
    _done(_libc.mount(source, target, kind, ctypes.c_ulong(flags), b""))


def _done(code: int) -> int:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return code


if __name__ == "__main__":
    main(sys.argv)
