"""The routes of this host as the kernel lists them: every table, without starting a process."""

from __future__ import annotations

from ipaddress import IPv4Network

FILE = "/proc/net/fib_trie"
# Wider than this, a route is a default route in parts (VPNs write 0.0.0.0/1 and 128.0.0.0/1): whatever is more precise goes before it.
WIDEST = 8


def destinations(listing: str) -> set[IPv4Network]:
    """Every network that a route or an address of the host names, default routes aside."""
    found: set[IPv4Network] = set()
    address = ""
    for line in listing.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "|--":
            address = words[1]
        elif words and words[0].startswith("/") and address and int(words[0][1:]) >= WIDEST:
            found.add(IPv4Network(f"{address}{words[0]}", strict=False))
    return found
