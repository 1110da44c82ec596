"""Where things are on disk: upstream's layout of the home directory, and the store beside it."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$MINIKUBE_HOME`, with `.minikube` added unless it already ends so (upstream's rule), else `~/.minikube`."""
    configured = os.environ.get("MINIKUBE_HOME", "")
    if not configured:
        return Path.home() / ".minikube"
    path = Path(configured).absolute()
    return path if path.name == ".minikube" else path / ".minikube"


def store() -> Path:
    """Components shared by every profile, home and clone of this user."""
    configured = os.environ.get("MINIKUBE_STORE", "")
    if configured:
        return Path(configured).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else Path.home() / ".cache") / "minikube"


def profile_directory(profile: str) -> Path:
    return home() / "profiles" / profile


def machine_directory(machine: str) -> Path:
    return home() / "machines" / machine
