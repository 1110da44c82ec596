"""The user's logins at registries, as `docker login` and `podman login` keep them: in a file, or with a program made for secrets."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minikube.artifacts.endpoints import DOCKER_HUB
from minikube.host.credentials import as_person
from minikube.host.process import ProcessFailed, run
from minikube.output.debuglog import debug

_DOCKER_HUB_LOGIN = "https://index.docker.io/v1/"
_PATIENCE = 20.0  # seconds: a program may ask for a password of its own


def credentials(registry: str) -> str:
    """Name and password for a registry as HTTP wants them (`name:password` in base64), or nothing."""
    with as_person():  # whose logins they are, and whose file names the program that is asked
        for path in _files():
            try:
                content = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            for name in _names(registry):
                found = _from_program(content, name) or _from_file(content, name)
                if found:
                    return found
    return ""


def _files() -> Iterator[Path]:
    yield Path(os.environ.get("DOCKER_CONFIG", "") or Path.home() / ".docker") / "config.json"
    if named := os.environ.get("REGISTRY_AUTH_FILE", ""):
        yield Path(named)
    yield Path(os.environ.get("XDG_RUNTIME_DIR", "") or f"/run/user/{os.getuid()}") / "containers" / "auth.json"


def _names(registry: str) -> tuple[str, ...]:
    """What a registry is called in such files."""
    return (_DOCKER_HUB_LOGIN, DOCKER_HUB) if registry == DOCKER_HUB else (registry, f"https://{registry}")


def _from_file(content: Mapping[str, Any], name: str) -> str:
    entry = (content.get("auths") or {}).get(name) or {}
    if entry.get("auth"):
        return str(entry["auth"])
    return _encoded(entry.get("username", ""), entry.get("password", ""))


def _from_program(content: Mapping[str, Any], name: str) -> str:
    helper = (content.get("credHelpers") or {}).get(name) or content.get("credsStore")
    if not helper:
        return ""
    try:
        answer = json.loads(run([f"docker-credential-{helper}", "get"], input=name.encode(), timeout=_PATIENCE).stdout)
        # Other kinds of secrets than passwords have a name that cannot be one.
        return _encoded(answer["Username"], answer["Secret"]) if not answer["Username"].startswith("<") else ""
    except (ProcessFailed, ValueError, KeyError) as error:
        debug(f"docker-credential-{helper} knows nothing of {name}: {error}")
        return ""


def _encoded(name: str, password: str) -> str:
    return base64.b64encode(f"{name}:{password}".encode()).decode() if name else ""
