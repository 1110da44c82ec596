"""What the machine calls itself."""

from __future__ import annotations

import os


def description() -> str:
    """`Debian 12 (amd64)`, as upstream's first line has it."""
    from pathlib import Path

    facts = {}
    try:
        for line in Path("/etc/os-release").read_text().splitlines():
            key, _, value = line.partition("=")
            facts[key] = value.strip('"')
    except OSError:
        pass
    return f"{facts.get('NAME', 'Linux').removesuffix(' GNU/Linux')} {facts.get('VERSION_ID', '')} ({architecture()})".replace("  ", " ")


def architecture() -> str:
    """The machine's architecture as Go and OCI name it."""
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
