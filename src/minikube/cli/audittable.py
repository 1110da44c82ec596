"""Rows of logs/audit.json for people."""

from __future__ import annotations

import json
from collections.abc import Iterator

from minikube.cli.table import boxed

_COLUMNS = {
    "command": "COMMAND",
    "args": "ARGS",
    "profile": "PROFILE",
    "user": "USER",
    "version": "VERSION",
    "startTime": "START TIME",
    "endTime": "END TIME",
}


def as_lines(rows: list[str]) -> Iterator[str]:
    """Upstream's table; a row that is not an audit row is shown as it is, below."""
    cells, others = [], []
    for row in rows:
        try:
            data = json.loads(row)["data"]
            cells.append([str(data.get(key, "")).replace("\n", " ") for key in _COLUMNS])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            others.append(row)
    if cells:
        yield from boxed(list(_COLUMNS.values()), cells).splitlines()
    yield from others
