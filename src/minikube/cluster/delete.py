"""Delete clusters: every process, every change of the host, every file."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence

from minikube.cluster import scheduledstop
from minikube.kubernetes import kubeconfig
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.glance import glance
from minikube.profiles.locks import lock_file, profile_lock
from minikube.profiles.paths import home, machine_directory


def delete(profiles: Sequence[str], report: Report, *, purge: bool = False) -> None:
    """Delete each profile's cluster, whatever is left of it; with `purge`, the whole home directory afterwards."""
    for profile in profiles:
        with profile_lock(profile, command="delete", on_wait=report.info):
            _delete_one(profile, report)
        lock_file(profile).unlink(missing_ok=True)
    if purge:
        report.step("Puring home dir", "Purging home directory ...")
        shutil.rmtree(home(), ignore_errors=True)
        report.info(f"Successfully purged minikube directory located at - [{home()}]")


def _delete_one(profile: str, report: Report) -> None:
    machine = profile_files.machine_name(profile)
    known = profile_files.exists(profile)
    if not known and not machine_directory(machine).exists():
        report.info(f'Profile "{profile}" does not exist, nothing to delete', style="meh")
        kubeconfig.remove(profile)
        return
    report.step("Deleting", f'Deleting "{profile}" ...')
    scheduledstop.end_waiting(profile)
    _delete_machine(profile, machine, report)
    profile_files.delete(profile)
    kubeconfig.remove(profile)
    _forget_as_active(profile)
    report.step("Done", f'Removed all traces of the "{profile}" cluster.')


def _delete_machine(profile: str, machine: str, report: Report) -> None:
    """The machine's own files say whose it is; a damaged or missing profile file must not stand in the way."""
    from minikube.drivers import machinefile
    from minikube.drivers.registry import driver_for

    name = machinefile.driver_name(machine)
    if not name:
        with contextlib.suppress(Reason):
            found = glance(profile)
            name = found.driver if found else ""
    try:
        driver_for(name or "none", machine).delete()
    except Reason as reason:
        if reason.id != "DRV_NOT_FOUND" or machine_directory(machine).exists():
            raise
        report.warning(f"{reason.message}. Nothing of the machine is left in this home, so only the profile is deleted.")
    # The driver has removed what is its own; what was kept about the machine goes last, so that a failure can be tried again.
    shutil.rmtree(machine_directory(machine), ignore_errors=True)


def _forget_as_active(profile: str) -> None:
    from minikube.profiles import userconfig

    if profile_files.active_profile() == profile:
        userconfig.unset("profile")
