"""`minikube update-context`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command


def _run(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.context import update
    from minikube.kubernetes.kubeconfig import endpoint

    if update(profile):
        call.report.info(
            f'"{profile}" context has been updated to point to {endpoint(profile).removeprefix("https://")}',
            style="celebrate",
        )
    else:
        call.report.info(f'No changes required for the "{profile}" context', style="meh")
    call.report.info(f'Current context is "{_current()}"', style="kubectl")


def _current() -> str:
    from minikube.kubernetes.kubeconfig import current_context

    return current_context()


COMMANDS = {
    "update-context": Command(
        "update-context",
        "Update kubeconfig in case of an IP or port change",
        _run,
        details="Makes the kubectl context of the profile lead to where its API server is now.",
    )
}
