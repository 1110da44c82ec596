"""HTTP_PROXY, HTTPS_PROXY and NO_PROXY, read as curl and Go's programs read them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit


class Proxies(NamedTuple):
    """Which proxy to ask for what; empty where there is none."""

    http: str = ""
    https: str = ""
    exempt: tuple[str, ...] = ()
    """NO_PROXY: host names, domains, addresses, networks, each with a port or without."""

    def for_url(self, url: str) -> str:
        """The proxy to ask for a URL, or nothing. This machine itself is never asked for through a proxy."""
        parts = urlsplit(url)
        proxy = self.https if parts.scheme == "https" else self.http
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        if not proxy or is_local(host) or any(_covers(entry, host, port) for entry in self.exempt):
            return ""
        return proxy if "://" in proxy else f"http://{proxy}"


def from_environment(environment: Mapping[str, str] | None = None) -> Proxies:
    """What the variables say; the spelling in small letters wins, as with curl."""
    where = os.environ if environment is None else environment

    def value(name: str) -> str:
        return where.get(name.lower(), "") or where.get(name, "")

    everything = value("ALL_PROXY")
    exempt = tuple(entry.strip() for entry in value("NO_PROXY").split(",") if entry.strip())
    return Proxies(value("HTTP_PROXY") or everything, value("HTTPS_PROXY") or everything, exempt)


def without_password(url: str) -> str:
    """The same address, fit to be shown."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:…@{host}")) if at else url


def is_local(host: str) -> bool:
    """Whether a name or address means this very machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _covers(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return ip_address(host) in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, only = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
    name, wanted = name.lower().removeprefix("*").lstrip("."), host.lower().rstrip(".")
    return (not only or only == str(port)) and (wanted == name or wanted.endswith(f".{name}"))
