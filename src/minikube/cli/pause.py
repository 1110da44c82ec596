"""`minikube pause` and `minikube unpause`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

_FLAGS = (
    Flag("namespaces", "strings", ["kube-system", "kubernetes-dashboard", "istio-operator"], "Namespaces to freeze.", short="n"),
    Flag("all-namespaces", "bool", help="All namespaces.", short="A"),
    Flag("output", short="o", default="text", help="How to report: text or json.", choices=("text", "json")),
)


def _pause(call: Call) -> None:
    call.output("text", "json")
    profile = checks.existing_profile(call)
    from minikube.cluster.pausing import pause

    pause(profile, _namespaces(call), call.report)


def _unpause(call: Call) -> None:
    call.output("text", "json")
    profile = checks.existing_profile(call)
    from minikube.cluster.pausing import unpause

    unpause(profile, _namespaces(call), call.report, all_others=not call.settings.changed("namespaces"))


def _namespaces(call: Call) -> list[str] | None:
    if call.settings.get("all-namespaces"):
        return None
    chosen = [name for name in call.settings.get("namespaces") if name]
    if not chosen:
        from minikube.output.reason import Reason

        raise Reason("MK_USAGE", "Use -A to specify all namespaces")
    return chosen


COMMANDS = {
    "pause": Command(
        "pause",
        "pause Kubernetes",
        _pause,
        flags=_FLAGS,
        report_steps=True,
        details="Freezes Kubernetes: its processes keep their memory and get no processor time. The containers of your own namespaces "
        "go on running, unless -A or -n says otherwise. `minikube unpause` and `minikube start` let everything go on.",
        examples=("minikube pause", "minikube pause -A", "minikube pause -n kube-system,default"),
    ),
    "unpause": Command(
        "unpause",
        "unpause Kubernetes",
        _unpause,
        flags=_FLAGS,
        aliases=("resume",),
        report_steps=True,
        details="Lets a paused cluster go on: everything that is frozen, or with -n only these namespaces.",
        examples=("minikube unpause", "minikube unpause -n kube-system"),
    ),
}
