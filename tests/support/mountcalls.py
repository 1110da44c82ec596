"""What somebody in a small node asks of the kernel with mount_setattr, rightly or not. Each function gives what it saw, or the errno."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import threading
from collections.abc import Callable
from pathlib import Path

from support.smallnode import NEW_PROCESSES, PART, WHOLE, check, libc

from minikube.drivers.native import enclosure, podmounts

ORDINARY = podmounts.EMPTY_PATH | podmounts.WHOLE_TREE
FOREIGN = -1  # the host's own user namespace, which nobody in a node should have
DETACH = 2


def users(first: int = 65536) -> int:
    """A user namespace below that of the caller."""
    return enclosure._owners(first, 65536)


def tree(path: str = WHOLE) -> int:
    return check(libc.syscall(podmounts.OPEN_TREE, -100, path.encode(), podmounts.CLONE | os.O_CLOEXEC | podmounts.WHOLE_TREE))


def ask(
    mount: int,
    owners: int,
    *,
    wanted: int = podmounts.IDMAP,
    cleared: int = 0,
    propagation: int = podmounts.PRIVATE,
    flags: int = ORDINARY,
    path: bytes = b"",
    more: bytes = b"",
) -> int:
    change = podmounts.ATTRIBUTES.pack(wanted, cleared, propagation, owners) + more
    return check(libc.syscall(podmounts.MOUNT_SETATTR, mount, path, flags, change, len(change)))


def attach(mount: int) -> None:
    check(libc.syscall(podmounts.MOVE_MOUNT, mount, b"", -100, b"/media", enclosure.FROM_EMPTY_PATH))


def detach() -> None:
    while libc.umount2(b"/media", DETACH) == 0:
        pass


def owner(path: str) -> int:
    return Path(path).stat().st_uid


def by_another(act: Callable[[], object]) -> int:
    """The errno of an act in a process that has something the others have not."""
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 255)
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(code, "")
    return 0


# what the runtime does


def a_pods_mount() -> list[int]:
    """A file's owner as the node sees it, through the mount, of one that is written there, and of that as the node sees it."""
    mount, mine = tree(), users()
    ask(mount, mine)
    attach(mount)
    libc.setfsgid(65536)
    libc.setfsuid(65536)
    Path("/media/written").write_text("x")
    libc.setfsuid(0)
    libc.setfsgid(0)
    seen = [owner(f"{WHOLE}/file"), owner("/media/file"), owner("/media/written"), owner(f"{WHOLE}/written")]
    detach()
    return seen


def a_layers_mount() -> str:
    """As containerd mounts layers: nobody can write, and the flags are there from the start."""
    mount = tree()
    ask(mount, users(), wanted=podmounts.IDMAP | podmounts.READ_ONLY)
    attach(mount)
    (line,) = [words for words in Path("/proc/self/mounts").read_text().splitlines() if " /media " in words][1:]
    detach()
    return "ro" if "ro" in line.split()[3].split(",") else "rw"


def a_files_mount() -> int:
    mount = tree(f"{WHOLE}/file")
    return ask(mount, users(), propagation=0, flags=podmounts.EMPTY_PATH)


def while_signals_come() -> int:
    """How many of fifty calls succeed, when signals take the caller out of them all the time."""
    signal.signal(signal.SIGALRM, lambda _number, _frame: None)
    signal.siginterrupt(signal.SIGALRM, False)
    mine, done = users(), 0
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    for _ in range(50):
        mount = tree()
        ask(mount, mine)
        os.close(mount)
        done += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    return done


def many_calls() -> int:
    """From eight threads at once; each comes back with an answer, whatever it is."""
    mine, answered = users(), []

    def call() -> None:
        for _ in range(25):
            mount = tree()
            try:
                answered.append(ask(mount, mine))
            except OSError as error:
                answered.append(error.errno or 0)
            os.close(mount)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(answered)


# what must end as if nobody had looked


def plain_flags() -> int:
    return ask(tree(), 0, wanted=podmounts.READ_ONLY)


def memory_of_the_node() -> int:
    check(libc.mount(b"tmpfs", b"/media", b"tmpfs", 0, None))
    try:
        return ask(tree("/media"), users())
    finally:
        detach()


def a_tree_with_memory_in_it() -> int:
    check(libc.mount(b"tmpfs", f"{WHOLE}/inner".encode(), b"tmpfs", 0, None))
    try:
        return ask(tree(), users())
    finally:
        libc.umount2(f"{WHOLE}/inner".encode(), DETACH)


def the_hosts_files() -> int:
    return ask(tree("/usr"), users())


def files_of_root_alone() -> int:
    return ask(tree(PART), users())


def the_hosts_users() -> int:
    return ask(tree(), FOREIGN)


def its_own_users() -> int:
    return ask(tree(), os.open("/proc/self/ns/user", os.O_RDONLY))


def another_namespace() -> int:
    return ask(tree(), os.open("/proc/self/ns/mnt", os.O_RDONLY))


def no_users() -> int:
    return ask(tree(), 9999)


def users_far_away() -> int:
    """A number whose lower half is one of a user namespace below."""
    return ask(tree(), users() + (1 << 32))


def arguments_far_away() -> int:
    far = ctypes.c_uint64((1 << 64) - 4096)
    return check(libc.syscall(podmounts.MOUNT_SETATTR, tree(), far, ORDINARY, far, 32))


def no_tree() -> int:
    return ask(9999, users())


def no_mount() -> int:
    return ask(os.open(f"{WHOLE}/file", os.O_RDONLY), users())


def an_attached_mount() -> int:
    return ask(os.open(WHOLE, os.O_PATH), users())


def the_current_directory() -> int:
    return ask(-100, users())


def a_path() -> int:
    return ask(-100, users(), path=WHOLE.encode())


def bad_memory() -> int:
    return check(libc.syscall(podmounts.MOUNT_SETATTR, tree(), b"", ORDINARY, 8, 32))


def a_longer_request() -> int:
    return ask(tree(), users(), more=b"\1" * 8)


def cleared_flags() -> int:
    return ask(tree(), users(), cleared=podmounts.NO_SUID)


def taken_off() -> int:
    return ask(tree(), users(), wanted=0, cleared=podmounts.IDMAP)


def another_propagation() -> int:
    return ask(tree(), users(), propagation=1 << 20)


def without_rights() -> int:
    """A user who has somebody's tree: in its own user namespace, everything in there would be its own."""
    mount, mine = tree(), users(1000)

    def act() -> None:
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)
        ask(mount, mine)

    return by_another(act)


def with_one_right() -> int:
    """The right to mount alone, as a container may have it."""
    mount, mine = tree(), users()

    def act() -> None:
        header, only = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 1 << 21, 1 << 21, 0, 0, 0, 0)
        check(libc.capset(header, only))
        ask(mount, mine)

    return by_another(act)


def from_below() -> int:
    """Root of a user namespace of its own."""
    mount, mine = tree(), users()

    def act() -> None:
        check(libc.unshare(enclosure.NEW_USERS))
        ask(mount, mine)

    return by_another(act)


def from_a_container() -> int:
    """With all rights of the node, but not among its processes."""
    mount, mine = tree(), users()

    def act() -> None:
        check(libc.unshare(NEW_PROCESSES))
        by_another(lambda: ask(mount, mine))

    return by_another(act)


def again_with_others() -> int:
    """The second time for other users, which the first must not make possible."""
    mount = tree()
    with contextlib.suppress(OSError):
        ask(mount, users())
    return ask(mount, users(1 << 20))
