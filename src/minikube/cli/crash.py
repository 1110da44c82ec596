"""The end nobody foresaw: one sentence for the user, the rest in a file."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path

from minikube.cli.command import Call
from minikube.host.files import cannot_write
from minikube.host.privatefiles import open_private
from minikube.host.process import ProcessFailed
from minikube.output.reason import Reason
from minikube.output.secrets import without_secrets
from minikube.output.visible import visible
from minikube.profiles.paths import home

_PROGRAM_ERROR = 10


def explain(error: Exception, call: Call) -> Reason:
    """Keep the details, and say what happened."""
    details = without_secrets("".join(traceback.format_exception(error)))
    place = _keep(details)
    if _wants_details(call):
        print(details, file=sys.stderr)
    reason = _known(error)
    if reason is None:
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        reason = Reason("MK_INTERNAL", f"An error inside minikube: {what}", advice=place, exit_code=_PROGRAM_ERROR)
    return reason


def _known(error: Exception) -> Reason | None:
    if isinstance(error, ProcessFailed):
        return Reason("MK_COMMAND_RUNNER", str(error))
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return cannot_write(Path(error.filename or home()), error)
    if isinstance(error, OSError) and error.strerror:
        return Reason("HOST_PATH_STAT", f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    return None


def _keep(details: str) -> str:
    file = home() / "logs" / "lastCrash.txt"
    try:
        with os.fdopen(open_private(str(file.parent), file.name, fresh=True), "wb") as stream:
            stream.write(visible(details).encode(errors="backslashreplace"))
    except (OSError, ValueError):
        return "Run it again with --alsologtostderr to see the details."
    return f"The details are in {file}; please add them to a report of this problem."


def _wants_details(call: Call) -> bool:
    try:
        return bool(call.settings.get("alsologtostderr") or call.settings.get("logtostderr") or call.settings.get("v") >= 1)
    except Reason:
        return False
