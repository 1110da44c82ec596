"""`minikube stop`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _run(call: Call) -> None:
    settings = call.settings
    call.output("text", "json")
    if settings.get("schedule") or settings.get("cancel-scheduled"):
        raise Reason(
            "MK_UNIMPLEMENTED", "`minikube stop --schedule` is not built yet: nothing stays behind that could stop a cluster later"
        )
    from minikube.cluster.stop import stop

    if settings.get("all"):
        from minikube.profiles.profile import list_profiles

        profiles = [profile.name for profile in list_profiles().valid]
    else:
        profiles = [checks.existing_profile(call)]
    stop(profiles, call.report, keep_context=settings.get("keep-context-active"))


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
        examples=("minikube stop", "minikube stop --all"),
    )
}
