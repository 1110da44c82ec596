"""`minikube sync`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command


def _run(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.sync import sync

    sync(profile, call.report)


COMMANDS = {
    "sync": Command(
        "sync",
        "Copy ~/.minikube/files into the cluster's node again, without a restart",
        _run,
        max_arguments=0,
        details="Does for a running node what every start does: files below ~/.minikube/files are copied to the same place below /, with "
        "their modes, and the node trusts the certificates in ~/.minikube/certs (*.pem, *.crt).",
        examples=("minikube sync",),
    )
}
