"""`minikube doctor`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.cli.startflags import DRIVERS, RUNTIMES
from minikube.output.notready import command
from minikube.profiles.settings import Flag

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.cluster.doctor import Diagnosis
    from minikube.drivers.checks import Check


_NOT_HERE = ("MK_UNIMPLEMENTED", "DRV_UNSUPPORTED", "DRV_UNSUPPORTED_OS")


def _run(call: Call) -> int:
    form = call.output("text", "json")
    from minikube.cluster.doctor import examine
    from minikube.profiles.profile import validate_name

    validate_name(call.settings.profile)
    diagnosis = examine(call.settings)
    if form == "json":
        import json

        print(json.dumps(_as_data(diagnosis), indent=2))
    else:
        _show(diagnosis, call.settings.profile)
    return diagnosis.refusal.exit_code if diagnosis.refusal else 0


def _as_data(diagnosis: Diagnosis) -> dict[str, object]:
    refusal = diagnosis.refusal
    return {
        "ready": refusal is None,
        "exitCode": refusal.exit_code if refusal else 0,
        "name": refusal.id if refusal else "",
        "message": refusal.message if refusal else "",
        "driver": diagnosis.driver,
        "containerRuntime": diagnosis.runtime,
        "checks": [check._asdict() for check in diagnosis.checks],
    }


def _show(diagnosis: Diagnosis, profile: str) -> None:
    from minikube.output.console import localized

    widths = max(len(_state(check)) for check in diagnosis.checks), max(len(localized(check.title)) for check in diagnosis.checks)
    for group in dict.fromkeys(check.group for check in diagnosis.checks):
        print(localized(group))
        checks = [check for check in diagnosis.checks if check.group == group]
        for check in checks:
            if not _only_not_here(check):
                _row(widths, _state(check), localized(check.title), localized(check.detail))
                if check.fix and check.state != "ok":
                    _row(widths, "", "", f"> {localized(check.fix)}")
        others = [check.title for check in checks if _only_not_here(check)]
        if others:
            _row(widths, "-", localized("not here"), ", ".join(others))
        print()
    _conclude(diagnosis, command("start", profile))


def _row(widths: tuple[int, int], state: str, title: str, text: str) -> None:
    print(f"  {state:<{widths[0]}}  {title:<{widths[1]}}  {text}")


def _state(check: Check) -> str:
    """Looked up with a word before it: alone it may be somebody's name for a cluster."""
    from minikube.output.console import localized

    return localized(f"state: {check.state}").partition(": ")[2]


def _only_not_here(check: Check) -> bool:
    """Nobody asked for it: a name in a list is enough."""
    return check.reason in _NOT_HERE and not check.required


def _conclude(diagnosis: Diagnosis, start: str) -> None:
    from minikube.output import console

    warnings = sum(check.state == "warning" for check in diagnosis.checks)
    refusal = diagnosis.refusal
    if refusal is None:
        console.out(f"`{start}` can work here (warnings above: {warnings})" if warnings else f"`{start}` can work here", "ready")
        return
    console.out(f"`{start}` would be refused with {refusal.id} (exit code {refusal.exit_code}): {refusal.message}", "unmet")
    if refusal.advice:
        console.out(refusal.advice, "tip")


COMMANDS = {
    "doctor": Command(
        "doctor",
        "Checks whether this machine has everything a start needs",
        _run,
        flags=(
            Flag("driver", short="d", help="Only what this driver needs. Every driver is listed if left out.", choices=DRIVERS),
            Flag("container-runtime", short="c", help="Only this runtime. Every runtime is listed if left out.", choices=RUNTIMES),
            Flag("kubernetes-version", help="The version whose components are looked for, as `start` has it."),
            Flag("cpus", default="2", help="The CPUs a start would ask for."),
            Flag("memory", short="m", help="The memory a start would ask for."),
            Flag("output", short="o", default="text", help="text or json.", choices=("text", "json")),
        ),
        max_arguments=0,
        details="Checks everything that `minikube start` needs, changes nothing, and says for each thing that is missing the one command "
        "that mends it. Ends with 0 if a start can work, else with the exit code that the start would end with.",
        examples=("minikube doctor", "minikube doctor --driver=native --memory=8g", "minikube doctor -o json"),
    )
}
