"""Where details go: the logging flags of Kubernetes' programs, and logs/lastStart.txt."""

from __future__ import annotations

import os

from minikube.cli.command import Call
from minikube.host.privatefiles import open_private
from minikube.output import debuglog

_FULL = 1 << 20  # bytes

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
        if file == last_start():
            debuglog.to_file(open_private(str(file.parent), file.name, fresh=call.command.name == "start"))
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        debuglog.to_file(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600))
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

    return Path(file) if file else _rolling(Path(directory), call)


def _rolling(directory: Path, call: Call) -> Path:
    """Upstream's name: one file for each user and command line, and the next number once it is full."""
    import getpass
    import hashlib

    words = [str(os.getuid()), getpass.getuser(), *call.path.split()[1:], *call.settings.arguments]
    stem = f"minikube_{call.path.split()[1]}_{hashlib.sha1(''.join(words).encode(), usedforsecurity=False).hexdigest()}"
    number = 0
    while (file := directory / f"{stem}_{number}.log").exists() and file.stat().st_size >= _FULL:
        number += 1
    return file
