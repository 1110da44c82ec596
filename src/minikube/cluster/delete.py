"""Delete clusters: every process, every change of the host, every file."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence

from minikube.cluster import rights, scheduledstop
from minikube.drivers.leftbehind import LeftBehind
from minikube.host.moments import moment
from minikube.kubernetes import kubeconfig, trustbundle
from minikube.output.problems import together
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.glance import glance
from minikube.profiles.locks import lock_file, profile_lock
from minikube.profiles.paths import doomed_directory, home, machine_directory


def delete(profiles: Sequence[str], report: Report, *, purge: bool = False) -> None:
    """Delete each profile's cluster, whatever is left of it; with `purge`, the whole home directory afterwards."""
    rights.require_for("delete", [profile for profile in profiles if _anything_of(profile)])
    beyond_reach: list[Reason] = []
    for profile in profiles:
        with profile_lock(profile, command="delete", on_wait=report.info):
            try:
                _delete_one(profile, report)
            except LeftBehind as left:
                beyond_reach.append(left)
            # While it is held: afterwards it may be another command's already.
            lock_file(profile).unlink(missing_ok=True)
    if purge:
        report.step("Puring home dir", "Purging home directory ...")
        shutil.rmtree(home(), ignore_errors=True)
        report.info(f"Successfully purged minikube directory located at - [{home()}]")
    if beyond_reach:
        raise together(beyond_reach)


def deletable() -> list[str]:
    """Every profile of this home, usable or not, and every machine that has lost its profile."""
    listing = profile_files.list_profiles()
    names = [profile.name for profile in (*listing.valid, *listing.invalid)]
    machines = sorted(path.name for path in (home() / "machines").glob("*") if path.is_dir() and not path.name.startswith("."))
    return [*names, *(name for name in machines if name not in names)]


def _delete_one(profile: str, report: Report) -> None:
    if not _anything_of(profile):
        report.info(f'Profile "{profile}" does not exist, nothing to delete', style="meh")
        _forget(profile)
        return
    machine, known = profile_files.machine_name(profile), profile_files.exists(profile)
    report.step("Deleting", f'Deleting "{profile}" ...')
    scheduledstop.end_waiting(profile)
    left = _delete_machine(profile, machine, report, known=known)
    with moment("remove profile"), trustbundle.locked():
        profile_files.delete(profile)
        trustbundle.update()
    with moment("remove context"):
        _forget(profile)
    if left:
        raise left
    report.step("Done", f'Removed all traces of the "{profile}" cluster.')


def _anything_of(profile: str) -> bool:
    machine = profile_files.machine_name(profile)
    return (
        profile_files.exists(profile) or machine_directory(machine).exists() or doomed_directory(machine).exists() or _left_on_host(machine)
    )


def _delete_machine(profile: str, machine: str, report: Report, *, known: bool) -> LeftBehind | None:
    """The machine's own files say whose it is; a damaged or missing profile file must not stand in the way."""
    from minikube.drivers import machinefile
    from minikube.drivers.registry import driver_for

    left = None
    name = machinefile.driver_name(machine)
    if not name:
        with contextlib.suppress(Reason):
            found = glance(profile)
            name = found.driver if found else ""
    try:
        driver = driver_for(name or "none", machine)
        missing = [] if known else [f"its profile ({profile_files.config_file(profile)})"]
        missing += driver.missing()
        if missing:
            report.info(f"Some of it was gone already: {', '.join(missing)}", style="meh")
        driver.delete()
    except LeftBehind as beyond_reach:
        left = beyond_reach
    except Reason as reason:
        if reason.id != "DRV_NOT_FOUND" or machine_directory(machine).exists():
            raise
        report.warning(f"{reason.message}. Nothing of the machine is left in this home, so only the profile is deleted.")
    # The driver has removed what is its own; what was kept about the machine goes last, so that a failure can be tried again.
    shutil.rmtree(machine_directory(machine), ignore_errors=True)
    return left


def _left_on_host(machine: str) -> bool:
    """Whether there is a native machine of which only the host's side is left: somebody removed the whole home."""
    from minikube.drivers.registry import driver_for

    return bool(driver_for("none", machine).host_changes())


def _forget(profile: str) -> None:
    """Neither minikube nor kubectl means this cluster any more: both go back to the profile that is active now."""
    from minikube.profiles import userconfig

    if profile_files.active_profile() == profile:
        userconfig.unset("profile")
    kubeconfig.remove(profile, then=profile_files.active_profile())
