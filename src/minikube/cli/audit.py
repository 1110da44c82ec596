"""logs/audit.json: which command was run when, by whom, for which profile."""

from __future__ import annotations

import os
import sys
import time

from minikube import __version__
from minikube.output.debuglog import debug
from minikube.output.events import new_id
from minikube.output.reason import Reason
from minikube.profiles.paths import home_text

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.profiles.settings import Settings

_MAX_ENTRIES = 1000  # the default of the key MaxAuditEntries
_ROW_BYTES = 400  # about what a row takes: smaller files are not read just to count their rows


def audit_file() -> str:
    return f"{home_text()}/logs/audit.json"


class Audit:
    """The row of one command; written once, when the command has ended."""

    def __init__(self, settings: Settings, path: str) -> None:
        self._settings, self._command, self._began = settings, path.split()[1], time.localtime()

    def write(self) -> None:
        """Append the row. An audit log that cannot be written is no reason to fail a command."""
        try:
            if self._settings.get("skip-audit"):
                return
            file = audit_file()
            os.makedirs(f"{home_text()}/logs", exist_ok=True)  # noqa: PTH103
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.write(descriptor, self._row().encode())  # one write: rows of two commands never mix
            finally:
                os.close(descriptor)
            self._shorten(file)
        except (OSError, Reason) as error:
            debug(f"audit log not written: {error}")

    def _row(self) -> str:
        words = sys.argv[1:]
        if self._command in words:
            words.remove(self._command)
        data = {
            "args": " ".join(words).encode(errors="backslashreplace").decode(),
            "command": self._command,
            "endTime": _stamp(time.localtime()),
            "id": new_id(),
            "profile": self._settings.profile,
            "startTime": _stamp(self._began),
            "user": self._settings.get("user") or _user(),
            "version": f"v{__version__}",
        }
        row = {
            "specversion": "1.0",
            "id": new_id(),
            "source": "https://minikube.sigs.k8s.io/",
            "type": "io.k8s.sigs.minikube.audit",
            "datacontenttype": "application/json",
            "data": data,
        }
        from minikube.host.quickjson import dumps

        return dumps(row) + "\n"

    def _shorten(self, file: str) -> None:
        from minikube.profiles.userconfig import read

        wanted = read().get("MaxAuditEntries", _MAX_ENTRIES)
        keep = wanted if isinstance(wanted, int) and wanted > 0 else _MAX_ENTRIES
        if os.stat(file).st_size < keep * _ROW_BYTES:  # noqa: PTH116
            return
        with open(file, "rb") as stream:  # noqa: PTH123
            rows = stream.readlines()
        if len(rows) > keep:
            from minikube.host.files import write_durably

            write_durably(file, b"".join(rows[-keep:]))


def _stamp(when: time.struct_time) -> str:
    """RFC 822, as Go formats it."""
    return time.strftime("%d %b %y %H:%M %Z", when)


def _user() -> str:
    import pwd

    if os.getuid() == 0 and "minikube" in os.environ.get("SUDO_COMMAND", ""):
        return os.environ.get("SUDO_USER", "root")
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return "UNKNOWN"
