"""Paths that are the same in every node."""

from __future__ import annotations

# The supervisor, and what it reads.
SUPERVISOR = "/etc/minikube/supervisor.py"
METADATA = "/etc/minikube/node.json"
# Directories that are a node's own and survive a restart; the rest of it is memory, or the image.
WRITABLE = ("etc", "var", "opt", "root", "home", "srv", "mnt")
