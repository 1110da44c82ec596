"""machines/<machine>/config.json: which driver a machine belongs to, and that driver's own configuration. Upstream's keys."""

from __future__ import annotations

import json
import os

from minikube.host import credentials
from minikube.output.reason import Reason
from minikube.profiles.paths import machine_directory

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

VERSION = 3


def load(machine: str) -> dict[str, Any]:
    """The driver's own configuration; empty where nothing was kept, GUEST_LOAD_HOST if the file is damaged."""
    own = _read(machine).get("Driver")
    return own if isinstance(own, dict) else {}


def driver_name(machine: str) -> str:
    """The driver the machine was made by; empty where the file is missing or damaged: deleting must still be possible."""
    try:
        return str(_read(machine).get("DriverName") or "")
    except Reason:
        return ""


def save(machine: str, driver: str, own: Mapping[str, Any], *, roots: Path | None = None) -> None:
    """Keep a driver's configuration; whoever reads the file finds the old or the new one, whole. It may hold secrets.

    `roots`: the machine's directory, where that is root's own. The file is its person's: it says what that person wants.
    """
    from minikube.host.files import cannot_write, make_directory, write_durably

    directory = roots or machine_directory(machine)
    document = {"ConfigVersion": VERSION, "Driver": dict(own), "DriverName": driver, "HostOptions": {}, "Name": machine}
    text = json.dumps(document, indent=4) + "\n"
    with credentials.as_root() if roots else credentials.as_person():
        try:
            make_directory(directory, mode=0o700)
            if (directory / "config.json").read_text() == text:
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise cannot_write(directory / "config.json", error) from error
        write_durably(directory / "config.json", text, mode=0o600)
        if roots:
            os.chown(directory / "config.json", credentials.person(), credentials.group(), follow_symlinks=False)


def _read(machine: str) -> dict[str, Any]:
    path = machine_directory(machine) / "config.json"
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("it is not an object")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, OSError) as error:
        raise Reason(
            "GUEST_LOAD_HOST",
            f"{path} cannot be used: {error}",
            advice="Restore it from a copy, or delete the profile (minikube delete) and start it again.",
        ) from error
    return document
