"""How containerd talks to registries that are not simply https: /etc/containerd/certs.d, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

CERTIFICATES = "/etc/containerd/certs.d"
_DOCKER_HUB = "docker.io"
_DOCKER_HUB_SERVER = "https://registry-1.docker.io"


def registry_hosts(insecure: Sequence[str], mirrors: Sequence[str]) -> dict[str, str]:
    """Path in the node to content. containerd knows hosts only, no networks: those of `--insecure-registry` are not for it."""
    hosts = [entry for entry in insecure if "/" not in entry]
    files = {_file(host): _insecure(host) for host in hosts}
    if mirrors:
        parts = [_host(mirror, ("pull", "resolve"), unchecked=mirror.partition("://")[2].rstrip("/") in hosts) for mirror in mirrors]
        files[_file(_DOCKER_HUB)] = f"server = {json.dumps(_DOCKER_HUB_SERVER)}\n\n" + "\n".join(parts)
    return files


def _insecure(host: str) -> str:
    """TLS with any certificate, else plain HTTP: containerd asks one after the other."""
    capabilities = ("pull", "resolve", "push")
    secured, plain = f"https://{host}", f"http://{host}"
    return f"server = {json.dumps(plain)}\n\n{_host(secured, capabilities, unchecked=True)}\n{_host(plain, capabilities)}"


def _host(url: str, capabilities: Sequence[str], *, unchecked: bool = False) -> str:
    lines = [f"[host.{json.dumps(url.rstrip('/'))}]", f"  capabilities = {json.dumps(list(capabilities))}"]
    return "\n".join([*lines, *(["  skip_verify = true"] if unchecked else [])]) + "\n"


def _file(host: str) -> str:
    return f"{CERTIFICATES}/{host}/hosts.toml"
