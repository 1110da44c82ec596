"""Python packages by hash: pip installs only the wheels that a lock file names, from whichever index or mirror it is told to use.

Standard library only: the launcher's first run is before anything is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from minikube.output.secrets import without_secrets

_OPTIONS = ("--require-hashes", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input", "--no-warn-script-location")
_QUIETLY = ("--retries", "2", "--progress-bar", "off")


class NoPip(Exception):
    """There is no pip to be found."""

    def __init__(self) -> None:
        super().__init__("This Python has no pip to install packages with. On Debian or Ubuntu: apt-get install python3-venv")


def install_command(python: Path, lock: Path, *options: str) -> list[str]:
    """The command that installs what the lock file names for that Python, and refuses everything else."""
    return [*_pip(python), "install", *_OPTIONS, *_QUIETLY, *options, "-r", str(lock)]


def why_pip_failed(output: Sequence[str]) -> str:
    """A sentence, if what pip said is known: another file than the locked one, or none for this machine. Else nothing."""
    for number, line in enumerate(output):
        if "DO NOT MATCH THE HASHES" in line:
            package, _, place = (output[number + 1] if number + 1 < len(output) else "").strip().partition(" from ")
            where = without_secrets(place.partition("#")[0].rstrip(":"))
            return f"The package index offers another file for {package} than the one this version of minikube was tested with ({where})"
    if any("Retrying" in line for line in output):
        return ""  # the network, not the index
    for line in output:
        if "No matching distribution found for" in line:
            package = line.rpartition(" for ")[2].partition(" ")[0].rstrip(";")
            version = ".".join(map(str, sys.version_info[:2]))
            return f"The package index has no built package {package} for Python {version} on this machine"
    return ""


def _pip(python: Path) -> list[str]:
    """pip as it comes with Python, run from its wheel; else the pip of the machine; Debian has neither without a package."""
    import importlib.util

    places = [Path("/usr/share/python-wheels")]
    bundled = importlib.util.find_spec("ensurepip")
    if bundled and bundled.origin:
        places.insert(0, Path(bundled.origin).parent / "_bundled")
    for place in places:
        for wheel in sorted(place.glob("pip-*.whl"), reverse=True):
            return [str(python), str(wheel / "pip")]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(python)]
    raise NoPip
