"""logs/audit.json: which command was run when, by whom, for which profile. Secrets of command lines are not in it."""

from __future__ import annotations

import os
import sys
import time

from minikube import __version__
from minikube.host.privatefiles import open_private
from minikube.output.debuglog import debug
from minikube.output.events import new_id
from minikube.output.reason import Reason
from minikube.output.secrets import hide
from minikube.profiles.paths import home_text

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.profiles.settings import Settings

_MAX_ENTRIES = 1000  # the default of the key MaxAuditEntries
_OPEN = '"endTime":""'.ljust(48)
_FOR_OTHERS = ("ssh", "kubectl")  # their words are for programs of which nobody knows what is secret
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
            row = self._row().replace('"endTime":""', end, 1).encode()
            descriptor = open_private(f"{home_text()}/logs", "audit.json")
            try:
                os.write(descriptor, row)  # one write: rows of two commands never mix
                place = os.lseek(descriptor, 0, os.SEEK_CUR) - len(row) + row.index(end.encode())
                found = os.fstat(descriptor)
                self._begun = found.st_ino, place
            finally:
                os.close(descriptor)
            if found.st_uid == os.geteuid():  # root replaces no file in somebody else's directory: that person's next command does
                self._shorten(audit_file())
        except (OSError, Reason) as error:
            debug(f"audit log not written: {error}")

    def _fill_in(self, end: str) -> bool:
        """Put the end into the row that was begun; False if there is none, or if another command has made the log anew since."""
        inode, place = self._begun
        if not inode or len(end) > len(_OPEN):
            return False
        try:
            descriptor = open_private(f"{home_text()}/logs", "audit.json", os.O_WRONLY)
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
        data = {
            "args": " ".join(self._words()).encode(errors="backslashreplace").decode(),
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

    def _words(self) -> list[str]:
        """The command line without secrets; of what runs elsewhere (ssh, kubectl) only the name of the command."""
        words = sys.argv[1:]
        if self._command in words:
            words.remove(self._command)
        if self._command not in _FOR_OTHERS or not self._settings.arguments:
            return hide(words)
        theirs = self._settings.arguments
        ours = words[: words.index("--")] if "--" in words else [word for word in words if word not in theirs]
        first, *more = (*theirs[0].split(), *theirs[1:]) or ("",)
        return [*hide(ours), "--", *hide([first]), *(["..."] if more else [])]

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

            write_durably(file, b"".join(rows[-keep:]), mode=0o600)


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
