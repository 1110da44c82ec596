"""Which commands need root rights for which clusters: asked for before anything is made, once, and not where they are not needed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from minikube.host import rootrights
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.settings import Settings


def require_for(command: str, profiles: Sequence[str]) -> None:
    """Go on as root if the machine of one of these profiles takes that."""
    if os.geteuid() != 0 and any(map(_needs_root, profiles)):
        rootrights.require(f"`minikube {command}` changes network and control groups of this host, which takes root rights")


def require_for_start(settings: Settings, report: Report) -> None:
    """The same for a start, unless it would be refused anyway: then nobody is asked for a password just to hear that."""
    may_ask = bool(settings.get("interactive"))
    if os.geteuid() == 0 or settings.get("dry-run"):
        return
    from minikube.cluster.preflight import prepare

    profile = settings.profile
    try:
        if settings.get("bundle"):  # it may know a version that nothing else here knows
            from minikube.cluster.bundles import StartBundle

            StartBundle(settings)
        prepared = prepare(settings, profile_files.load(profile), profile_files.machine_name(profile), _Silent(report.command))
    except Reason:
        return  # the same reasons come again, in their place
    if prepared.driver.needs_root:
        why = "`minikube start` makes namespaces and a network bridge on this host, which takes root rights"
        rootrights.require(why, may_ask=may_ask)


def _needs_root(profile: str) -> bool:
    from minikube.drivers import machinefile
    from minikube.drivers.registry import driver_for
    from minikube.profiles.glance import glance

    machine = profile_files.machine_name(profile)
    name = machinefile.driver_name(machine)
    if not name:
        with contextlib.suppress(Reason):
            found = glance(profile)
            name = found.driver if found else ""
    with contextlib.suppress(Reason):  # a driver that is no longer there needs nothing any more
        return driver_for(name or "none", machine).needs_root
    return False


class _Silent(Report):
    """For a first look whose story is told by the second."""

    def _tell(self, kind: str, data: dict[str, str], message: str, style: str, *, lasts: bool = False) -> None:
        pass
