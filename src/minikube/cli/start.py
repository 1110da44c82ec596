"""`minikube start`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.startflags import START_FLAGS

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Sequence

    from minikube.profiles.settings import Flag


def _driver_flags(words: list[str]) -> Sequence[Flag]:
    from minikube.cli.driverflags import driver_flags

    return driver_flags(words)


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
        further=_driver_flags,
        report_steps=True,
        examples=(
            "minikube start",
            "minikube start --cpus=4 --memory=8g",
            "minikube start -p second --kubernetes-version=v1.36.4",
            "minikube start --extra-config=apiserver.v=4",
        ),
    )
}
