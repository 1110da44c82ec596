"""`minikube delete`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.output.notready import profile_not_found
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _run(call: Call) -> None:
    from minikube.cluster.delete import deletable, delete

    settings, report = call.settings, call.report
    call.output("text", "json")
    everything = deletable()
    if settings.get("purge") and len(everything) > 1 and not settings.get("all"):
        for name in everything:
            report.info(f"    - {name}", style="notice")
        raise Reason("MK_USAGE", "Multiple minikube profiles were found. Usage: minikube delete --all --purge")
    profile = settings.profile
    if "/" in profile or "\0" in profile or profile in (".", ".."):
        raise profile_not_found(profile)
    delete(everything if settings.get("all") else [profile], report, purge=settings.get("purge"))
    if settings.get("all"):
        report.info("Successfully deleted all profiles", style="deleting")


COMMANDS = {
    "delete": Command(
        "delete",
        "Deletes a local Kubernetes cluster",
        _run,
        flags=(
            Flag("all", "bool", help="Delete all clusters."),
            Flag("purge", "bool", help="Delete the whole directory ~/.minikube as well."),
            Flag("output", short="o", default="text", help="How to report: text or json.", choices=("text", "json")),
        ),
        max_arguments=0,
        report_steps=True,
        details="Deletes a local Kubernetes cluster with its files, its kubectl context and everything it changed on this machine.",
        examples=("minikube delete", "minikube delete -p second", "minikube delete --all --purge"),
    )
}
