"""For nodes without a user namespace: settings of the whole host cannot be written in there, whichever way somebody gets at them.

To the kernel root in such a node is the host's root, who needs no capability to write a file of /proc/sys. Read-only mounts do not help:
a hostPath volume of exactly such a mount is writable again, and there are as many /proc as containers. So a small eBPF program on the
control group around the node decides about every write: settings of network and IPC namespaces pass, all others are refused.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from minikube.host import cgroups

# The kernel keeps these for each network or IPC namespace, and a node has its own.
OF_NAMESPACES = ("net/", "kernel/shm", "kernel/msg", "kernel/sem", "fs/mqueue/")

_BPF = {"x86_64": 321, "aarch64": 280}
_LOAD, _ATTACH = 5, 8
_CGROUP_SYSCTL_PROGRAM, _CGROUP_SYSCTL_HOOK, _WITH_OTHERS = 23, 18, 2
_GET_NAME = 101  # bpf_sysctl_get_name
_NAME_BYTES = 32
_LOADS = {4: 0x61, 2: 0x69, 1: 0x71}
_MOVE, _SET, _ADD, _CALL, _EXIT, _JUMP, _IF_EQUAL, _IF_NOT = 0xBF, 0xB7, 0x07, 0x85, 0x95, 0x05, 0x15, 0x55

_libc = ctypes.CDLL(None, use_errno=True)


def is_possible() -> bool:
    """Whether this kernel takes the program, and has a place for it (a hierarchy of version 2)."""
    if not any((root / "cgroup.controllers").exists() for root in cgroups.directories("/")):
        return False
    try:
        os.close(_load())
    except (OSError, KeyError):
        return False
    return True


def attach(group: str) -> None:
    """Guard everything in a group and below. It ends with the group."""
    program = _load()
    try:
        for directory in cgroups.directories(group):
            directory.mkdir(parents=True, exist_ok=True)
            if (directory / "cgroup.controllers").exists():
                _attach(program, directory)
    finally:
        os.close(program)


def _attach(program: int, directory: Path) -> None:
    target = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _bpf(_ATTACH, struct.pack("=IIII", target, program, _CGROUP_SYSCTL_HOOK, _WITH_OTHERS))
    finally:
        os.close(target)


def _load() -> int:
    code = ctypes.create_string_buffer(_program())
    license = ctypes.create_string_buffer(b"GPL")
    count = len(_program()) // 8
    return _bpf(_LOAD, struct.pack("=IIQQ", _CGROUP_SYSCTL_PROGRAM, count, ctypes.addressof(code), ctypes.addressof(license)) + bytes(48))


def _bpf(command: int, attributes: bytes) -> int:
    done = int(_libc.syscall(_BPF[os.uname().machine], command, attributes, len(attributes)))
    if done < 0:
        raise OSError(ctypes.get_errno(), f"bpf: {os.strerror(ctypes.get_errno())}")
    return done


def _program() -> bytes:
    """1 for a read, 1 for a write whose name begins with one of OF_NAMESPACES, else 0, which the caller sees as EPERM."""
    beginning = [
        _step(_LOADS[4], to=0, of=1),  # ctx->write
        _step(_IF_EQUAL, to=0, value=0, jump=0),  # to the end, see below
        _step(_MOVE, to=2, of=10),
        _step(_ADD, to=2, value=-_NAME_BYTES),
        _step(_SET, to=3, value=_NAME_BYTES),
        _step(_SET, to=4, value=0),
        _step(_CALL, value=_GET_NAME),
    ]
    comparisons = [list(_chunks(prefix.encode())) for prefix in OF_NAMESPACES]
    lengths = [2 * len(chunks) + 1 for chunks in comparisons]
    allowed = len(beginning) + sum(lengths) + 2
    beginning[1] = _step(_IF_EQUAL, to=0, value=0, jump=allowed - 2)
    steps = beginning
    for chunks, length in zip(comparisons, lengths, strict=True):
        following = len(steps) + length
        for offset, size, value in chunks:
            steps.append(_step(_LOADS[size], to=0, of=10, jump=offset - _NAME_BYTES))
            steps.append(_step(_IF_NOT, to=0, value=value, jump=following - len(steps) - 1))
        steps.append(_step(_JUMP, jump=allowed - len(steps) - 1))
    steps += [_step(_SET, to=0, value=0), _step(_EXIT), _step(_SET, to=0, value=1), _step(_EXIT)]
    return b"".join(steps)


def _chunks(text: bytes) -> Iterator[tuple[int, int, int]]:
    """A text in pieces that one comparison can do: offset, size, value."""
    offset = 0
    while offset < len(text):
        size = next(size for size in _LOADS if size <= len(text) - offset)
        yield offset, size, int.from_bytes(text[offset : offset + size], "little")
        offset += size


def _step(code: int, *, to: int = 0, of: int = 0, jump: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", code, to | of << 4, jump, value)
