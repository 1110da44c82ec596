"""Where details go: the logging flags of Kubernetes' programs, and logs/lastStart.txt."""

from __future__ import annotations

import os

from minikube.cli.command import Call
from minikube.output import debuglog

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from pathlib import Path


def open_logs(call: Call) -> None:
    """Connect the debug log to what the flags ask for; `start` keeps one of its own without being asked."""
    settings = call.settings
    if settings.get("alsologtostderr") or settings.get("logtostderr"):
        debuglog.to_stderr()
    file = _wanted(call)
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if call.command.name == "start" and file == last_start():
            file.unlink(missing_ok=True)
        debuglog.to_file(str(file))
    except OSError as error:
        from minikube.host.files import cannot_write

        raise cannot_write(file, error) from None


def last_start() -> Path:
    from minikube.profiles.paths import home

    return home() / "logs" / "lastStart.txt"


def _wanted(call: Call) -> Path | None:
    file, directory = call.settings.get("log_file"), call.settings.get("log_dir")
    if not file and not directory:
        return last_start() if call.command.name == "start" else None
    from pathlib import Path

    return Path(file) if file else Path(directory) / f"minikube_{call.command.name}_{os.getpid()}.log"
