"""The user's own defaults: config/config.json, written by `minikube config set`."""

from __future__ import annotations

import os

from minikube.output.reason import Reason
from minikube.profiles.paths import home_text

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


def config_path() -> Path:
    from pathlib import Path

    return Path(_config_text())


def _config_text() -> str:
    return f"{home_text()}/config/config.json"


def read() -> dict[str, Any]:
    """All keys of the file; none if there is no file. A file that is not a JSON object is a reason, and stays as it is."""
    path = _config_text()
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            data = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Reason("HOST_CONFIG_LOAD", f"{path} cannot be read: {error.strerror}") from None
    if not data.strip():
        return {}
    from minikube.host.quickjson import loads

    try:
        content = loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(content, dict):
        raise _damaged(path, "it does not hold a JSON object")
    return content


def change(edit: Callable[[dict[str, Any]], object]) -> None:
    """Read, edit and write the file, alone: two commands at once lose nothing."""
    import fcntl
    import json

    from minikube.host.files import cannot_write, write_durably

    path = config_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        # The directory itself is the lock: no further file that someone could wonder about.
        fcntl.flock(directory, fcntl.LOCK_EX)
        content = read()
        edit(content)
        write_durably(path, json.dumps(dict(sorted(content.items())), indent=4) + "\n", mode=0o600)
    finally:
        os.close(directory)


def set_value(key: str, value: object) -> None:
    change(lambda content: content.__setitem__(key, value))


def unset(key: str) -> None:
    """Fine if the key was not set; a file that does not exist is not made for that."""
    if config_path().exists():
        change(lambda content: content.pop(key, None))


def _damaged(path: str, why: str) -> Reason:
    return Reason(
        "HOST_CONFIG_LOAD",
        f"{path} is damaged: {why}",
        advice="Repair the file (it has not been touched), or move it away and set your values again with `minikube config set`.",
    )
