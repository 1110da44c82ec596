"""A shell, or one command, in a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from minikube.cluster import existing


def ssh(profile: str, argv: Sequence[str], node: str = "") -> int:
    """Without words, a login shell on a terminal of its own; with words, that command, and its exit code."""
    target = existing.running_node(profile, node)
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not argv:
        return target.attach(["/bin/bash", "--login"], tty=terminal)
    # One command line for a shell, as ssh has it: `minikube ssh -- 'ls | wc -l'` and `minikube ssh ls /` both work.
    return target.attach(["/bin/bash", "--login", "-c", " ".join(argv)], tty=terminal)


def key(profile: str, node: str = "") -> str:
    """Where the key for the node's machine is; where it would be, for a node that is entered without one."""
    from minikube.drivers import machinefile
    from minikube.profiles.paths import machine_directory

    existing.require_node(profile, node)
    return str(machinefile.load(profile).get("SSHKeyPath") or machine_directory(profile) / "id_rsa")


def host_keys(profile: str, node: str = "") -> list[str]:
    """The pinned host keys of the node's machine, as lines of a known_hosts file; none for a node that is entered without SSH."""
    from minikube.profiles.paths import machine_directory

    existing.running_node(profile, node)
    try:
        return (machine_directory(profile) / "known_hosts").read_text().splitlines()
    except FileNotFoundError:
        return []


def append_known(lines: Sequence[str]) -> None:
    """Let the user's own ssh know these host keys, too."""
    from pathlib import Path

    from minikube.host.files import write_durably

    file = Path.home() / ".ssh" / "known_hosts"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    known = file.read_text().splitlines() if file.exists() else []
    if missing := [line for line in lines if line not in known]:
        write_durably(file, "".join(f"{line}\n" for line in [*known, *missing]), mode=0o600)
