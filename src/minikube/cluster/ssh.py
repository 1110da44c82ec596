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
