"""Everything that can be refused before anything is made: flags, driver, sizes and what the host lacks, all of it at once."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from minikube.cluster.driverchoice import choose, named
from minikube.cluster.plan import plan, plan_sizes
from minikube.drivers import checks, machinefile, registry
from minikube.drivers.base import Driver
from minikube.drivers.definition import Definition
from minikube.output.problems import Problems, together
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.settings import Settings

# No flag makes these possible.
UNFORCEABLE = ("DRV_NEEDS_ROOT", "DRV_UNSUPPORTED_OS")


class Prepared(NamedTuple):
    """What a start goes on with."""

    definition: Definition
    config: ClusterConfig
    own: dict[str, Any]
    driver: Driver


def prepare(settings: Settings, existing: ClusterConfig | None, machine: str, report: Report) -> Prepared:
    """The driver and the configuration to start with, or one reason that names everything in the way."""
    problems = Problems()
    definition = driver = None
    own: dict[str, Any] = {}
    with problems:
        definition = choose(settings, existing, report)
    # A driver that cannot work is not the only thing to say about a start with it.
    meant = definition or _meant(settings, existing)
    config = plan(settings, existing, meant, problems)
    if meant and (definition or meant.built_in):  # somebody else's program that cannot work would only say so twice
        with problems:
            own = meant.configure(config, settings, machinefile.load(machine) if meant.keeps_configuration else {})
            driver = meant.make(machine, own)
            plan_sizes(settings, config, driver.machine(), problems, fresh=existing is None)
        _look_at_the_host(meant, machine, settings, problems, report)
    if settings.get("dry-run") and driver:
        _only_say_what_can_wait(problems, report)
    if problems.found or meant is None or driver is None:
        raise together(problems.found)
    return Prepared(meant, config, own, driver)


def meet_machine(settings: Settings, config: ClusterConfig, driver: Driver, report: Report, *, fresh: bool) -> None:
    """Have the machine made or started by drivers that do that; only then is it known what it has."""
    driver.prepare(report.progress)
    problems = Problems()
    plan_sizes(settings, config, driver.machine(), problems, fresh=fresh)
    if problems.found:
        raise together(problems.found)


def _meant(settings: Settings, existing: ClusterConfig | None) -> Definition | None:
    with contextlib.suppress(Reason):
        return registry.definition(existing.Driver if existing else named(settings) or "none")
    return None


def _look_at_the_host(definition: Definition, machine: str, settings: Settings, problems: Problems, report: Report) -> None:
    """Ask the driver's quick questions. With --force what is missing is only said."""
    if settings.get("download-only"):
        return
    known = " ".join(reason.message for reason in problems.found)
    quick = (question for question in definition.questions() if question.quick)
    for check in checks.ask(quick, checks.ground(machine=machine)):
        if not check.in_the_way or check.detail in known:
            continue
        refusal = check.refusal()
        if settings.get("force") and check.reason not in UNFORCEABLE:
            report.warning(f"{refusal.message}. {refusal.advice}")
        else:
            problems.found.append(refusal)


def _only_say_what_can_wait(problems: Problems, report: Report) -> None:
    """A dry run makes nothing: it needs neither root nor what other clusters use at the moment."""
    for reason in [reason for reason in problems.found if reason.id in ("DRV_NEEDS_ROOT", "HOST_INOTIFY_LIMIT")]:
        report.warning(f"{reason.message}. {reason.advice}")
        problems.found.remove(reason)
