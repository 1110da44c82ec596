"""Which ports of its host a cluster may connect to: those that a user names, and those of registries and proxies on the host itself."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from minikube.network.firewall import EVERYTHING, NOTHING

HOST_NAME = "host.minikube.internal"  # of the host, in every node and pod
_LAST_PORT = 65535


def ports(words: Iterable[str]) -> tuple[str, ...]:
    """Ports and ranges as the firewall takes them, in order and without overlaps; ValueError for what is neither."""
    listed = [word.strip() for word in words if word.strip()]
    if EVERYTHING in listed:
        return (EVERYTHING,)
    merged: list[tuple[int, int]] = []
    for first, last in sorted(_range(word) for word in listed if word != NOTHING):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(str(first) if first == last else f"{first}-{last}" for first, last in merged)


def places(addresses: Iterable[str]) -> list[str]:
    """`host:port` of each registry or URL, without the user and password that it may have; what names no port of a host is left out."""
    found = []
    for address in addresses:
        with suppress(ValueError):
            parts = urlsplit(address if "://" in address else f"//{address}")
            if parts.hostname and ("://" in address or not parts.path):  # and not a network
                found.append(f"{parts.hostname}:{parts.port or (80 if parts.scheme == 'http' else 443)}")
    return found


def ports_here(places: Iterable[str]) -> list[str]:
    """The ports of those places that are on this very machine."""
    pairs = (place.rpartition(":") for place in places)
    return [port for host, _, port in pairs if is_here(host)]


def is_here(host: str) -> bool:
    """Whether a node would find this machine there; no name is looked up."""
    if host in (HOST_NAME, socket.gethostname().lower()):
        return True
    try:
        address = IPv4Address(host)
    except ValueError:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return not address.is_loopback


def _range(word: str) -> tuple[int, int]:
    if not re.fullmatch("[0-9]{1,5}(-[0-9]{1,5})?", word):
        raise ValueError(word)
    first, _, last = word.partition("-")
    if not 0 < int(first) <= int(last or first) <= _LAST_PORT:
        raise ValueError(word)
    return int(first), int(last or first)
