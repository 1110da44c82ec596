"""`minikube drivers`: where a node can live on this machine."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.drivers.definition import Definition
    from minikube.drivers.values import DriverStatus


def _run(call: Call) -> None:
    call.output("table", "json")
    from minikube.drivers import registry
    from minikube.drivers.health import statuses

    found = sorted(registry.every(), key=lambda definition: -definition.priority)
    answers = list(zip(found, statuses(found), strict=True))
    if call.settings.get("output") == "json":
        import json

        print(json.dumps([_object(*answer) for answer in answers]))
        return
    header = ["DRIVER", "ALIASES", "STATUS", "VERSION", "ORIGIN", "WHAT IT IS"]
    rows = [header, *(_row(*answer) for answer in answers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for definition, status in answers:
        if status.reason:
            print(f"\n{definition.title}: {status.reason}" + "".join(f"\n  {text}" for text in (status.fix, status.doc) if text))


def _row(definition: Definition, status: DriverStatus) -> list[str]:
    names = ", ".join(name for name in (definition.name, *definition.aliases) if name != definition.title)
    return [definition.title, names, _word(status), status.version, definition.origin, definition.summary]


def _word(status: DriverStatus) -> str:
    if not status.installed:
        return "not installed"
    return "healthy" if status.healthy else "unhealthy"


def _object(definition: Definition, status: DriverStatus) -> dict[str, object]:
    from minikube.drivers.definition import FALLBACK

    return {
        "name": definition.name,
        "title": definition.title,
        "aliases": list(definition.aliases),
        "summary": definition.summary,
        "systems": list(definition.systems),
        "priority": definition.priority,
        "chosenByItself": definition.priority >= FALLBACK,
        "builtIn": definition.built_in,
        "origin": definition.origin,
        "installed": status.installed,
        "healthy": status.healthy,
        "reason": status.reason,
        "fix": status.fix,
        "doc": status.doc,
        "version": status.version,
    }


COMMANDS = {
    "drivers": Command(
        "drivers",
        "Lists the drivers of this machine and whether they work",
        _run,
        flags=(Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),),
        max_arguments=0,
        details="Lists where a cluster's node can live on this machine: built-in drivers, drivers of installed Python packages and "
        "docker-machine-driver-NAME programs, each with its state of health, and what to do about one that cannot work.",
        examples=("minikube drivers", "minikube drivers -o json"),
    )
}
