"""The name servers a node may use: real ones, never a loopback address of the host, at most three."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

# systemd-resolved's own list of the real servers behind its stub comes first where it exists.
FILES = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))
MOST = 3  # the C library, and kubelet with it, takes no more


def node_resolv_conf(files: tuple[Path, ...] = FILES) -> str:
    """The node's resolv.conf; without a `nameserver` line when the host has none that a node could reach."""
    servers: list[str] = []
    kept: list[str] = []
    for file in files:
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            continue
        servers = [word for line in lines if (word := _server(line))]
        kept = [line.strip() for line in lines if line.split(maxsplit=1)[:1] in (["search"], ["options"])]
        if servers:
            break
    return "".join(f"{line}\n" for line in [*(f"nameserver {server}" for server in servers[:MOST]), *kept])


def _server(line: str) -> str:
    words = line.split()
    if len(words) < 2 or words[0] != "nameserver":
        return ""
    try:
        address = ip_address(words[1].partition("%")[0])
    except ValueError:
        return ""
    return "" if address.is_loopback or address.is_unspecified else words[1]
