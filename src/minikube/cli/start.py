"""`minikube start`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS


def _run(call: Call) -> None:
    from minikube.cluster.start import start
    from minikube.profiles.profile import validate_name

    call.output("text", "json")
    validate_name(call.settings.profile)
    if call.settings.arguments:
        call.report.warning(f"start takes no arguments, ignored: {' '.join(call.settings.arguments)}")
    for flag in GLOBAL_FLAGS:  # these are the program's own business, not the cluster's
        call.settings.get(flag.name)
    start(call.settings, call.report)


COMMANDS = {
    "start": Command(
        "start",
        "Starts a local Kubernetes cluster",
        _run,
        flags=START_FLAGS,
        report_steps=True,
        examples=(
            "minikube start",
            "minikube start --cpus=4 --memory=8g",
            "minikube start -p second --kubernetes-version=v1.36.4",
            "minikube start --extra-config=apiserver.v=4",
        ),
    )
}
