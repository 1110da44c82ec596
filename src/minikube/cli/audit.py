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
_OPEN = '"endTime":""'.ljust(48)
_ROW_BYTES = 400  # about what a row takes: smaller files are not read just to count their rows


def audit_file() -> str:
    return f"{home_text()}/logs/audit.json"


class Audit:
    """The row of one command, written when it has ended; long ones write it when they begin, for the case that they are killed."""

    def __init__(self, settings: Settings, path: str) -> None:
        self._settings, self._command, self._began = settings, path.split()[1], time.localtime()
        self._id, self._begun = new_id(), (0, 0)

    def begin(self) -> None:
        """The row without its end, and with room for it."""
        self._append(_OPEN)

    def write(self) -> None:
        """The whole row. An audit log that cannot be written is no reason to fail a command."""
        end = f'"endTime":"{_stamp(time.localtime())}"'
        if not self._fill_in(end):
            self._append(end)

    def _append(self, end: str) -> None:
        try:
            if self._settings.get("skip-audit"):
                return
            file = audit_file()
            row = self._row().replace('"endTime":""', end, 1).encode()
            os.makedirs(f"{home_text()}/logs", exist_ok=True)  # noqa: PTH103
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.write(descriptor, row)  # one write: rows of two commands never mix
                place = os.lseek(descriptor, 0, os.SEEK_CUR) - len(row) + row.index(end.encode())
                self._begun = os.fstat(descriptor).st_ino, place
            finally:
                os.close(descriptor)
            self._shorten(file)
        except (OSError, Reason) as error:
            debug(f"audit log not written: {error}")

    def _fill_in(self, end: str) -> bool:
        """Put the end into the row that was begun; False if there is none, or if another command has made the log anew since."""
        inode, place = self._begun
        if not inode or len(end) > len(_OPEN):
            return False
        try:
            descriptor = os.open(audit_file(), os.O_WRONLY | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_ino != inode:
                    return False
                os.pwrite(descriptor, end.ljust(len(_OPEN)).encode(), place)
            finally:
                os.close(descriptor)
        except OSError as error:
            debug(f"audit log not written: {error}")
            return False
        return True

    def _row(self) -> str:
        words = sys.argv[1:]
        if self._command in words:
            words.remove(self._command)
        data = {
            "args": " ".join(words).encode(errors="backslashreplace").decode(),
            "command": self._command,
            "endTime": "",
            "id": self._id,
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
