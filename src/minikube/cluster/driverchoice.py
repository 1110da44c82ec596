"""The driver of the cluster to start: the one it has, the one the user names, or the best that works here."""

from __future__ import annotations

from minikube.drivers import registry, selection
from minikube.drivers.definition import Definition
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.settings import Settings


def choose(settings: Settings, existing: ClusterConfig | None, report: Report) -> Definition:
    """Refuses what cannot work, unless forced, and says which it is and why."""
    if existing is not None:
        chosen = _of_existing(settings, existing)
        words = f"Using the {chosen.title} driver based on existing profile"
    elif name := named(settings):
        chosen = registry.definition(name)
        # Components can be fetched for a machine or a user that could not start anything.
        if not settings.get("download-only"):
            _require_working(chosen, settings, report)
        words = f"Using the {chosen.title} driver based on user configuration"
    elif settings.get("download-only"):
        return registry.definition("none")
    else:
        chosen, alternatives = _best(settings)
        others = ", ".join(other.title for other in alternatives)
        automatic = f"Automatically selected the {chosen.title} driver: {chosen.summary}"
        words = f"{automatic}. Other choices: {others}" if others else automatic
    report.step("Selecting Driver", words, style="sparkle")
    return chosen


def named(settings: Settings) -> str:
    """The driver the user asks for, if any."""
    return str(settings.get("driver") or settings.get("vm-driver"))


def _of_existing(settings: Settings, existing: ClusterConfig) -> Definition:
    """A cluster keeps its driver. What the user's configuration or environment prefers is for new ones; a flag must not contradict."""
    flag = next((str(settings.get(name)) for name in ("driver", "vm-driver") if settings.changed(name)), "")
    asked = registry.definition(flag).name if flag else existing.Driver
    if asked != existing.Driver:
        raise Reason(
            "GUEST_DRIVER_MISMATCH",
            f'The existing "{existing.Name}" cluster was created using the "{existing.Driver}" driver, '
            f'which is incompatible with requested "{asked}" driver.',
            advice=f"Delete the existing '{existing.Name}' cluster using: 'minikube delete -p {existing.Name}', or use another profile.",
        )
    return registry.of_machine(existing.Driver, existing.Name)


def _best(settings: Settings) -> tuple[Definition, list[Definition]]:
    """With --force the native one where nothing works: what is missing is said by its questions about the host."""
    try:
        return selection.best()
    except Reason:
        if not settings.get("force"):
            raise
        return registry.definition("none"), []


def _require_working(chosen: Definition, settings: Settings, report: Report) -> None:
    try:
        selection.require_working(chosen)
    except Reason as reason:
        if not settings.get("force"):
            raise
        report.warning(f"{reason.message} (going on because of --force)")
