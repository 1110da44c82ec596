"""A program, run as root: give the node's root directory other owners for whom it is to be, then become `runc`.

The node's root is not the host's: to it, files of the host's root would be strangers', and directories above them (`/root`) locked. So
in a mount namespace that ends with `runc create`, clones of the node's root and of what its `/usr` is made of are mounted where everyone
may pass, with every owner shifted to the node's. On disk nothing changes.

    enclosure.py '{"first": …, "count": …, "place": …, "machine": …, "root": …, "lowers": […], "writable": […]}' [runc create …]

Without a command it only tries, and says why it cannot be done, or `pods` if pods could have user namespaces of their own, too.
It stands on nothing but Python's own library: any Python runs it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any

NEW_MOUNTS, NEW_USERS = 0x20000, 0x10000000
READ_ONLY, BIND, RECURSIVE, PRIVATE = 0x1, 0x1000, 0x4000, 0x40000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same numbers on every architecture
HERE, EMPTY_PATH, WHOLE_TREE = -100, 0x1000, 0x8000
CLONE, FROM_EMPTY_PATH, TO_EMPTY_PATH, IDMAP = 0x1, 0x4, 0x40, 0x100000
PIDFD_GETFD, STATMOUNT, OPEN_TREE_ATTR, SECCOMP = 438, 457, 467, {"x86_64": 317, "aarch64": 277}
# Where runc finds the machine's directory, and in there the socket for the listener of the node's filter.
MACHINE, LISTENER = "machine", "listener.sock"

_libc = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    wish, command = json.loads(words[0]), words[1:]
    try:
        _prepare(wish)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    if command:
        os.execv(command[0], command)  # noqa: S606 - the one process that this program exists for
    try:
        _try_pods(wish)
    except (OSError, KeyError):
        return
    print("pods")


def _prepare(wish: dict[str, Any]) -> None:
    place = wish["place"]
    # Names of the machine's own are relative to it. The kernel takes it along into the new namespace, whatever its path leads to by then.
    os.chdir(wish["machine"])
    _done(_libc.unshare(NEW_MOUNTS), "a mount namespace of its own")
    _mount("none", "/", "", RECURSIVE | PRIVATE)
    _mount("minikube", place, "tmpfs", data="mode=755")
    owners = _owners(wish["first"], wish["count"])
    os.mkdir(f"{place}/{MACHINE}")  # noqa: PTH102
    _mount(".", f"{place}/{MACHINE}", "", BIND)
    root = f"{place}/root"
    _shifted(wish["root"], owners, root)
    lowers = [f"{place}/{number}" for number in range(len(wish["lowers"]))]
    for source, target in zip(wish["lowers"], lowers, strict=True):
        _shifted(source, owners, target)
    _mount("node", f"{root}/usr", "overlay", READ_ONLY, f"lowerdir={':'.join(lowers)}")
    for source in wish["writable"]:  # runc does these itself
        os.close(_clone(source, owners))
    os.close(owners)


def _try_pods(wish: dict[str, Any]) -> None:
    """Everything that podmounts.py needs of the kernel, for real."""
    owners = _owners(wish["first"], wish["count"])
    tree = _clone(wish["root"], owners)
    change = struct.pack("QQQQ", IDMAP, IDMAP, 0, owners)
    other = _done(_libc.syscall(OPEN_TREE_ATTR, tree, b"", CLONE | os.O_CLOEXEC | EMPTY_PATH, change, len(change)), "other owners again")
    _done(_libc.syscall(MOVE_MOUNT, other, b"", tree, b"", FROM_EMPTY_PATH | TO_EMPTY_PATH), "a mount over one that is nowhere")
    supported, maps, answer = 0x1000, 0x2000 | 0x4000, ctypes.create_string_buffer(1 << 14)
    status = ctypes.create_string_buffer(256)
    _done(_libc.statx(HERE, b"/", 0, 0x4000, status), "the number of a mount")
    request = struct.pack("IIQQ", 24, 0, *struct.unpack_from("Q", status, 144), supported)
    _done(_libc.syscall(STATMOUNT, request, answer, len(answer), 0), "the owners of a mount")
    if ~struct.unpack_from("Q", answer, 144)[0] & maps:
        raise OSError(0, "not told by this kernel", "the owners of a mount")
    _reach_into_a_child()
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = struct.pack("@HP", 1, ctypes.addressof(allow))
    _done(_libc.syscall(SECCOMP[os.uname().machine], 1, 8, program), "a filter with a listener")


def _reach_into_a_child() -> None:
    """Whether the kernel lets root take a descriptor of another process: Yama can forbid it, and runc needs it for a listener."""
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        life = os.pidfd_open(child)
        os.close(_done(_libc.syscall(PIDFD_GETFD, life, 1, 0), "a descriptor of another process"))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _owners(first: int, count: int) -> int:
    """A user namespace with these owners, as the file that mounts are told them by."""
    made, known = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(made[1], b"-" if _libc.unshare(NEW_USERS) else b"+")
        os.read(known[0], 1)
        os._exit(0)
    try:
        if os.read(made[0], 1) != b"+":
            raise OSError(0, "the kernel, or its setting user.max_user_namespaces, does not allow it", "a user namespace")
        for kind in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{kind}", "w") as table:  # noqa: PTH123
                table.write(f"0 {first} {count}")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.write(known[1], b".")
        os.waitpid(child, 0)


def _shifted(source: str, owners: int, target: str) -> None:
    tree = _clone(source, owners)
    os.mkdir(target)  # noqa: PTH102
    _done(_libc.syscall(MOVE_MOUNT, tree, b"", HERE, os.fsencode(target), FROM_EMPTY_PATH), target)
    os.close(tree)


def _clone(source: str, owners: int) -> int:
    """A mount of a directory whose files belong to others, not yet anywhere."""
    tree = _done(_libc.syscall(OPEN_TREE, HERE, os.fsencode(source), CLONE | os.O_CLOEXEC | WHOLE_TREE), source)
    change = struct.pack("QQQQ", IDMAP, 0, 0, owners)
    _done(_libc.syscall(MOUNT_SETATTR, tree, b"", EMPTY_PATH | WHOLE_TREE, change, len(change)), f"other owners in {source}")
    return tree


def _mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    code = _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _done(code, f"{kind or 'mounts'} on {target}")


def _done(code: int, what: str) -> int:
    if code < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
