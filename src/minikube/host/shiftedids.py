"""The users and groups of this host that nodes in user namespaces get.

Between what systemd gives to containers and what it keeps for images of others. Clusters have different ones as far as they go.
"""

from __future__ import annotations

FIRST, COUNT, RANGES = 0x70000000, 1 << 24, 15
ALL = range(FIRST, FIRST + RANGES * COUNT)
