"""How containerd talks to registries that are not simply https: /etc/containerd/certs.d, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minikube.artifacts.endpoints import DOCKER_HUB, DOCKER_HUB_SERVER

CERTIFICATES = "/etc/containerd/certs.d"
_EVERYTHING = ("pull", "resolve", "push")


def registry_hosts(insecure: Sequence[str], mirrors: Sequence[str]) -> dict[str, str]:
    """Path in the node to content. containerd knows hosts only, no networks: those of `--insecure-registry` are not for it."""
    hosts = [entry for entry in insecure if "/" not in entry]
    files = {_file(host): _insecure(host) for host in hosts}
    if mirrors:
        parts = [_host(mirror, ("pull", "resolve"), unchecked=mirror.partition("://")[2].rstrip("/") in hosts) for mirror in mirrors]
        files[_file(DOCKER_HUB)] = f"server = {json.dumps(f'https://{DOCKER_HUB_SERVER}')}\n\n" + "\n".join(parts)
    return files


def for_push(registry: str, login: str, *, insecure: bool) -> list[str]:
    """A registry's own file for one push, with the user's login there (`name:password` in base64) if there is one.

    Of several hosts containerd pushes to the first alone, so what may speak either way gives two files: one to try after the other.
    """
    server = DOCKER_HUB_SERVER if registry == DOCKER_HUB else registry
    urls = [f"https://{server}", *([f"http://{server}"] if insecure else [])]
    return [f"server = {json.dumps(url)}\n\n{_host(url, _EVERYTHING, unchecked=insecure, login=login)}" for url in urls]


def _insecure(host: str) -> str:
    """TLS with any certificate, else plain HTTP: containerd asks one after the other."""
    secured, plain = f"https://{host}", f"http://{host}"
    return f"server = {json.dumps(plain)}\n\n{_host(secured, _EVERYTHING, unchecked=True)}\n{_host(plain, _EVERYTHING)}"


def _host(url: str, capabilities: Sequence[str], *, unchecked: bool = False, login: str = "") -> str:
    table = f"host.{json.dumps(url.rstrip('/'))}"
    lines = [f"[{table}]", f"  capabilities = {json.dumps(list(capabilities))}"]
    if unchecked:
        lines.append("  skip_verify = true")
    if login:
        # containerd also sends it to where the registry has its tokens made.
        lines += [f"  [{table}.header]", f"    Authorization = {json.dumps(f'Basic {login}')}"]
    return "\n".join(lines) + "\n"


def _file(host: str) -> str:
    return f"{CERTIFICATES}/{host}/hosts.toml"
