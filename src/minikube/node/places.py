"""Paths that are the same in every node."""

from __future__ import annotations

# The supervisor, and what it reads.
SUPERVISOR = "/etc/minikube/supervisor.py"
METADATA = "/etc/minikube/node.json"
# As a module: Python then keeps what it has compiled, for the next start.
RUN_SUPERVISOR = (
    "/usr/bin/python3",
    "-I",
    "-S",
    "-c",
    "import sys; sys.path[:0] = ['/etc/minikube']; import supervisor; supervisor.main()",
)
# Directories that are a node's own and survive a restart; the rest of it is memory, or the image.
WRITABLE = ("etc", "var", "opt", "root", "home", "srv", "mnt")
