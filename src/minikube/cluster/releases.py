"""Which version is the newest: asked at the place this clone came from."""

from __future__ import annotations

from pathlib import Path

from minikube.host.process import ProcessFailed, run
from minikube.output.reason import Reason

SECONDS = 10.0
_NO_QUESTIONS = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=5", "GIT_ASKPASS": "true"}


def newest(clone: Path = Path(__file__).parents[3]) -> str:
    """The highest version tag of the clone's origin; nothing is fetched."""
    import os

    if not (clone / ".git").exists():
        raise _unavailable(
            "this copy of minikube is not a clone, so there is no place to ask",
            advice="Ask the tool it was installed with, for example pip.",
        )
    try:
        listing = run(
            ["git", "-C", str(clone), "ls-remote", "--tags", "--refs", "origin", "v*"], env={**os.environ, **_NO_QUESTIONS}, timeout=SECONDS
        )
    except ProcessFailed as error:
        why = "git is not installed" if error.code == 127 else error.output.strip().splitlines()[0] if error.output.strip() else "no answer"
        raise _unavailable(why) from error
    versions = [version for line in listing.text.splitlines() if (version := _numbers(line.rpartition("refs/tags/v")[2]))]
    if not versions:
        raise Reason("INET_VERSION_EMPTY", "Update server returned an empty list: no version has been released there yet")
    return "v" + ".".join(str(number) for number in max(versions))


def _numbers(text: str) -> tuple[int, int, int] | None:
    parts = text.split(".")
    if len(parts) != 3 or not all(part.isdigit() and part.isascii() and len(part) < 10 for part in parts):
        return None  # not a release: a candidate, or something else altogether
    return int(parts[0]), int(parts[1]), int(parts[2])


def _unavailable(why: str, *, advice: str = "") -> Reason:
    return Reason("INET_VERSION_UNAVAILABLE", f"Unable to fetch latest version info: {why}", advice=advice)
