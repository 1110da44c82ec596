"""`doctor`: everything a start needs, looked at and put into words. Nothing is changed."""

from __future__ import annotations

from typing import NamedTuple

from minikube.artifacts import catalogue
from minikube.cluster import sizes
from minikube.cluster.plan import NOT_BUILT_RUNTIMES, runtime_name
from minikube.drivers import checks, health, registry, selection
from minikube.drivers.checks import MISSING, OK, Check
from minikube.drivers.definition import Definition
from minikube.drivers.values import DriverStatus
from minikube.host import resources
from minikube.output.problems import Problems, together
from minikube.output.reason import Reason
from minikube.profiles.glance import glance
from minikube.profiles.profile import machine_name
from minikube.profiles.settings import Settings

PATIENCE = 3.0  # seconds for the drivers' own checks: somebody waits, perhaps at a slow machine


class Diagnosis(NamedTuple):
    """All answers, and what a start would be refused with (None: it can work)."""

    driver: str
    runtime: str
    checks: list[Check]
    refusal: Reason | None


def examine(settings: Settings) -> Diagnosis:
    """Look at this machine as a start with these settings would."""
    # In the order in which a start would come upon it: the first decides the exit code.
    problems = Problems()
    wanted, runtime, version = str(settings.get("driver")), str(settings.get("container-runtime")) or "containerd", ""
    definition = None
    with problems:
        definition = _definition(wanted, settings.profile)
    named = [*_drivers(wanted), *_runtimes(runtime, narrowed=settings.changed("container-runtime"))]
    problems.found += [check.refusal() for check in named if check.in_the_way]
    with problems:
        version = catalogue.resolve_version(str(settings.get("kubernetes-version")))
    found: list[Check] = []
    if definition and definition.questions():  # without any, its nodes are not on this host
        _sizes(settings, problems)
        found = checks.ask(definition.questions(), checks.ground(machine=machine_name(settings.profile), kubernetes_version=version))
    problems.found += [check.refusal() for check in found if check.in_the_way]
    name = definition.title if definition else wanted
    return Diagnosis(name, runtime, [*found, *named], together(problems.found) if problems.found else None)


def _definition(wanted: str, profile: str) -> Definition | None:
    """The driver a start would use; None if it is one that nobody provides, which its own check says."""
    existing = glance(profile)
    if wanted or existing:
        try:
            return registry.definition(wanted or str(existing and existing.driver))
        except Reason:
            if wanted:
                return None
            raise
    try:
        return selection.best(seconds=PATIENCE).definition
    except Reason:
        return registry.definition("none")  # its questions say why it cannot work


def _sizes(settings: Settings, problems: Problems) -> None:
    with problems:
        sizes.parse_cpus(str(settings.get("cpus")), available=resources.cpus(), force=False)
    with problems:
        sizes.parse_memory(str(settings.get("memory")), available=resources.memory_mb(), force=False)


def _drivers(wanted: str) -> list[Check]:
    """Every driver there is and may be, or the one that is asked for."""
    if wanted:
        try:
            definitions = [registry.definition(wanted)]
        except Reason as reason:
            return [_check("driver", wanted, reason, required=True)]
    else:
        definitions = registry.every()
    found = [
        _check(
            "driver",
            definition.title,
            _trouble(definition, status),
            required=bool(wanted) and not definition.questions(),
            good=status.version,
        )
        for definition, status in zip(definitions, health.statuses(definitions, seconds=PATIENCE), strict=True)
    ]
    if wanted:
        return found
    known = {*registry.ALIASES, *(name for definition in definitions for name in (definition.name, *definition.aliases))}
    return found + [_check("driver", name, registry.unsupported(name)) for name in registry.UPSTREAM if name not in known]


def _trouble(definition: Definition, status: DriverStatus) -> Reason | None:
    return None if status.installed and status.healthy else selection.refusal(definition, status)


def _runtimes(wanted: str, *, narrowed: bool) -> list[Check]:
    found = []
    for name in [wanted] if narrowed else ["containerd", *NOT_BUILT_RUNTIMES[:2]]:
        problems = Problems()
        with problems:
            runtime_name(name)
        found.append(_check("runtime", name, next(iter(problems.found), None), required=name == wanted))
    return found


def _check(kind: str, name: str, trouble: Reason | None, *, required: bool = False, good: str = "") -> Check:
    group = {"driver": "Drivers", "runtime": "Container runtimes"}[kind]
    if trouble is None:
        return Check(f"{kind}-{name}", group, name, OK, f"works here {f'({good})' if good else ''}".strip(), "", required, "")
    return Check(f"{kind}-{name}", group, name, MISSING, trouble.message, trouble.advice, required, trouble.id)
