"""Drivers that are programs: `docker-machine-driver-<name>` in the home's `bin` directory or on the PATH."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from minikube.drivers.definition import Definition
from minikube.profiles.paths import home

PREFIX = "docker-machine-driver-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def find(name: str) -> Definition | None:
    """The driver of that name, if there is such a program."""
    from minikube.drivers.plugin.definition import plugin_definition

    binary = find_binary(name)
    return plugin_definition(name, binary) if binary else None


def every() -> list[Definition]:
    from minikube.drivers.plugin.definition import plugin_definition

    names = {entry.removeprefix(PREFIX) for directory in _directories() for entry in _entries(directory) if entry.startswith(PREFIX)}
    return [plugin_definition(name, binary) for name in sorted(names) if (binary := find_binary(name))]


def find_binary(name: str) -> Path | None:
    """As upstream looks for it: the home's own directory comes first."""
    if not _NAME.fullmatch(name):
        return None
    candidates = (directory / (PREFIX + name) for directory in _directories())
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def _directories() -> Iterator[Path]:
    yield home() / "bin"
    # What the PATH says of the current directory does not count: whoever can write there must not get to run as us.
    yield from (directory for part in os.get_exec_path() if (directory := Path(part)).is_absolute())


def _entries(directory: Path) -> list[str]:
    try:
        return [entry.name for entry in directory.iterdir()]
    except OSError:
        return []
