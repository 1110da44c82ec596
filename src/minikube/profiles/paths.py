"""Where things are on disk: upstream's layout of the home directory, and the store beside it."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from pathlib import Path


def home_text() -> str:
    """`$MINIKUBE_HOME`, with `.minikube` added unless it already ends so (upstream's rule), else `~/.minikube`.

    A text, not a Path, like everything that quick commands look at: pathlib takes nearly as long to load as Python itself.
    """
    configured = os.environ.get("MINIKUBE_HOME", "")
    if not configured:
        return _absolute(os.path.expanduser("~")) + "/.minikube"  # noqa: PTH111
    path = _absolute(configured)
    return path if path.endswith("/.minikube") else f"{path}/.minikube"


def home() -> Path:
    from pathlib import Path

    return Path(home_text())


def store_text() -> str:
    """Components shared by every profile, home and clone of this user."""
    configured = os.environ.get("MINIKUBE_STORE", "")
    if configured:
        return _absolute(configured)
    return _absolute(os.environ.get("XDG_CACHE_HOME", "") or os.path.expanduser("~/.cache")) + "/minikube"  # noqa: PTH111


def store() -> Path:
    from pathlib import Path

    return Path(store_text())


def profile_text(profile: str) -> str:
    """The profile's directory, for quick commands."""
    return f"{home_text()}/profiles/{profile}"


def pause_hint(profile: str) -> str:
    """A file that is there while the cluster may be paused: quick commands that find none need not ask the node."""
    return f"{profile_text(profile)}/.paused"


def profile_directory(profile: str) -> Path:
    return home() / "profiles" / profile


def authority_text(profile: str) -> str:
    """Whose signature the cluster's API server shows. A cluster that an earlier version started last shares the home's."""
    own = f"{profile_text(profile)}/ca.crt"
    return own if os.path.exists(own) else f"{home_text()}/ca.crt"  # noqa: PTH110


def authority_file(profile: str) -> Path:
    from pathlib import Path

    return Path(authority_text(profile))


def machine_directory(machine: str) -> Path:
    return home() / "machines" / machine


def _absolute(path: str) -> str:
    """As pathlib has it: no `.` and no doubled slash, but `..` stays, for it may lead through a link."""
    whole = path if path.startswith("/") else f"{os.getcwd()}/{path}"  # noqa: PTH109
    return "/" + "/".join(part for part in whole.split("/") if part not in ("", "."))


def doomed_directory(machine: str) -> Path:
    """Where a machine is while its files are being removed."""
    return home() / "machines" / f".{machine}.deleted"
