"""`minikube start`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.cli.startflags import START_FLAGS


def _run(call: Call) -> None:
    from minikube.cluster.start import start
    from minikube.profiles.profile import validate_name

    call.output("text", "json")
    validate_name(call.settings.profile)
    if call.settings.arguments:
        call.report.warning(f"start takes no arguments, ignored: {' '.join(call.settings.arguments)}")
    start(call.settings, call.report)
    for flag in START_FLAGS:
        if call.settings.changed(flag.name) and not call.settings.was_read(flag.name):
            call.report.warning(f"--{flag.name} has no effect yet: see docs/compatibility.md for what has")


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
