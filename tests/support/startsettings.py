"""What `minikube start` is told, without a command line."""

from __future__ import annotations

from typing import Any

from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS
from minikube.profiles.settings import Settings


def settings(**given: Any) -> Settings:
    """`settings(no_kubernetes=True)` for `--no-kubernetes`."""
    flags = {flag.name: flag for flag in (*GLOBAL_FLAGS, *START_FLAGS)}
    return Settings(flags, {name.replace("_", "-"): value for name, value in given.items()})
