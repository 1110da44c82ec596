"""Stop clusters in order, keeping their data."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from minikube.cluster import existing, rights, scheduledstop
from minikube.drivers.base import Driver
from minikube.host.moments import moment
from minikube.kubernetes import kubeconfig
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.locks import profile_lock


def stop(profiles: Sequence[str], report: Report, *, keep_context: bool = False) -> None:
    """Stop each profile's cluster; one that is stopped already stays so."""
    stopped = 0
    rights.require_for("stop", profiles)
    for profile in profiles:
        machine = existing.driver(existing.facts(profile))
        report.step("Stopping", f'Stopping node "{profile}"  ...')
        with profile_lock(profile, command="stop", on_wait=report.info):
            scheduledstop.forget(profile)
            _keep_forerunners(machine)
            machine.stop()
            if not keep_context:
                with moment("remove context"):
                    kubeconfig.remove(profile)
        stopped += 1
    report.step("Done", f"{stopped} node{'' if stopped == 1 else 's'} stopped.")


def _keep_forerunners(machine: Driver) -> None:
    """For the next start; one that has to do without is slower, not wrong."""
    from minikube.cluster.services import keep_forerunners

    if machine.state() == "Running":
        with contextlib.suppress(OSError, Reason):
            machine.node().run(keep_forerunners(), timeout=5)
