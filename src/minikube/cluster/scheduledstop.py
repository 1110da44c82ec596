"""`stop --schedule`: a small process that outlives the shell, waits, and then becomes `minikube stop`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from minikube.cluster import rights
from minikube.host.credentials import as_root
from minikube.host.files import cannot_write, write_durably
from minikube.host.privatefiles import open_private
from minikube.host.process import ProcessFailed, spawn
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.clusterconfig import ScheduledStop
from minikube.profiles.locks import profile_lock
from minikube.profiles.paths import home, profile_directory
from minikube.profiles.values import SECOND, format_duration

# Looks at the clock every half minute: a machine that slept through the moment stops the cluster when it wakes up. The file with its
# number is its licence: whoever takes that away has cancelled it, also if the process could not be ended.
_WAITER = """\
import os, sys, time
due, licence, *command = sys.argv[1:]
while (left := float(due) - time.time()) > 0:
    time.sleep(min(left, 30))
with open(licence) as stream:
    if stream.read() == str(os.getpid()):
        os.execv(command[0], command)
"""


def schedule(profiles: Sequence[str], duration: int, report: Report, *, keep_context: bool) -> None:
    """Have each profile's cluster stopped after so many nanoseconds, whatever was scheduled before."""
    # Later there will be nobody to ask: who waits must have the rights already.
    rights.require_for("stop", profiles)
    for profile in profiles:
        with profile_lock(profile, command="stop --schedule", on_wait=report.info):
            config = profile_files.load(profile)
            if config is None:
                continue  # deleted while we waited
            end_waiting(profile)
            began = int(time.time())
            process = _start_waiting(profile, began + duration / SECOND, keep_context=keep_context)
            write_durably(_licence(profile), str(process), mode=0o600)
            config.ScheduledStop = ScheduledStop(InitiationTime=began, Duration=duration)
            profile_files.save(config)
        report.info(f'"{profile}" will be stopped in {format_duration(duration)}', style="stopping")


def cancel(profiles: Sequence[str], report: Report) -> None:
    for profile in profiles:
        with profile_lock(profile, command="stop --cancel-scheduled", on_wait=report.info):
            forget(profile)
    report.step("Done", "All existing scheduled stops cancelled", style="stopped")


def forget(profile: str) -> None:
    """Nothing is scheduled any more, neither as a process nor in the profile. The profile's lock is held."""
    end_waiting(profile)
    config = profile_files.load(profile)
    if config is not None and config.ScheduledStop is not None:
        config.ScheduledStop = None
        profile_files.save(config)


def end_waiting(profile: str) -> None:
    """End the process that waits for the profile, if there is one; fine if it is this very process, its wait being over."""
    licence = _licence(profile)
    try:
        process = int(licence.read_text())
    except (OSError, ValueError):
        process = 0
    try:
        licence.unlink(missing_ok=True)
    except NotADirectoryError:
        return
    except OSError as error:
        raise cannot_write(licence, error) from error
    if process > 0 and _waits_for(process, licence):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGTERM)


def _licence(profile: str) -> Path:
    """Upstream's file and content: the number of the process that waits."""
    return profile_directory(profile) / "pid"


def _waits_for(process: int, licence: Path) -> bool:
    """Numbers are used again: only a process that says it waits for this very file is ended."""
    try:
        return os.fsencode(licence) in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _start_waiting(profile: str, due: float, *, keep_context: bool) -> int:
    command = [*_own_program(), "stop", "-p", profile, "--schedule=0s", "--all=false", f"--keep-context-active={str(keep_context).lower()}"]
    log = home() / "logs" / "scheduledStop.txt"
    try:
        with os.fdopen(open_private(str(log.parent), log.name, fresh=True), "wb") as stream:
            # In this directory: MINIKUBE_HOME and KUBECONFIG may be relative to it.
            argv = [sys.executable, "-I", "-S", "-c", _WAITER, str(due), str(_licence(profile)), *command]
            with as_root():
                return spawn(argv, stdout=stream, stderr=stream, new_session=True).pid
    except OSError as error:
        raise cannot_write(log, error) from error
    except ProcessFailed as error:
        raise Reason("MK_DAEMONIZE", f"unable to daemonize: {error}") from error


def _own_program() -> list[str]:
    """How this very program was called, without its words."""
    words = len(sys.argv) - 1
    return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - words]]
