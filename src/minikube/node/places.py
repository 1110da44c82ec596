"""Paths that are the same in every node."""

from __future__ import annotations

# The supervisor, and what it reads.
SUPERVISOR = "/etc/minikube/supervisor.py"
METADATA = "/etc/minikube/node.json"
# As a module, which Python keeps compiled for the next start. Whoever lists processes sees its name.
_AS_MODULE = "import sys; sys.path[:0] = [sys.argv.pop(1).rpartition('/')[0]]; import supervisor; supervisor.main()"
RUN_SUPERVISOR = ("/usr/bin/python3", "-I", "-S", "-c", _AS_MODULE, SUPERVISOR, METADATA)
# Directories that are a node's own and survive a restart; the rest of it is memory, or the image.
WRITABLE = ("etc", "var", "opt", "root", "home", "srv", "mnt")
