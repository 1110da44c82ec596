"""`minikube stop`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _run(call: Call) -> None:
    settings = call.settings
    call.output("text", "json")
    after = settings.get("schedule")
    if after < 0:
        raise Reason("MK_USAGE", "--schedule takes a time from now on, for example --schedule=5m")
    if settings.get("all"):
        from minikube.profiles.profile import list_profiles

        profiles = [profile.name for profile in list_profiles().valid]
    else:
        profiles = [checks.existing_profile(call)]
    keep_context = settings.get("keep-context-active")
    if settings.get("cancel-scheduled"):
        from minikube.cluster.scheduledstop import cancel

        cancel(profiles, call.report)
    elif after:
        from minikube.cluster.scheduledstop import schedule

        schedule(profiles, after, call.report, keep_context=keep_context)
    else:
        from minikube.cluster.stop import stop

        stop(profiles, call.report, keep_context=keep_context)


COMMANDS = {
    "stop": Command(
        "stop",
        "Stops a running local Kubernetes cluster",
        _run,
        flags=(
            Flag("all", "bool", help="Stop all clusters."),
            Flag("keep-context-active", "bool", help="Leave kubectl's context in place."),
            Flag("schedule", "duration", help="Stop after this time, for example 5m."),
            Flag("cancel-scheduled", "bool", help="Do not stop after all."),
            Flag("output", short="o", default="text", help="How to report: text or json.", choices=("text", "json")),
        ),
        report_steps=True,
        details='Stops a local Kubernetes cluster. Its data stays: "minikube start" brings the same cluster back.',
        examples=("minikube stop", "minikube stop --all", "minikube stop --schedule=8h", "minikube stop --cancel-scheduled"),
    )
}
