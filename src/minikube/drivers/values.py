"""Small values that pass between drivers and the rest."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """What a node may use of the host; 0 means no limit."""

    cpus: float
    memory_mb: int
    pids: int


class File(NamedTuple):
    """A file to be in the node before its services start."""

    content: bytes
    mode: int = 0o644


class Result(NamedTuple):
    """How a command in a node ended."""

    code: int
    stdout: bytes
    stderr: bytes
