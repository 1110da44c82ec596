"""Whether systemd divides this machine, and where its units are. Apart from scopes.py because `status` asks."""

from __future__ import annotations

import os


def is_running() -> bool:
    """As sd_booted(3) finds out."""
    return os.path.isdir("/run/systemd/system")  # noqa: PTH112 - pathlib takes milliseconds to import


def scope_group(name: str) -> str:
    """The control group of a scope that root has systemd make."""
    return f"/system.slice/{name}"
