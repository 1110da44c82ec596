"""`minikube pause` and `minikube unpause`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

_FLAGS = (
    Flag("namespaces", "strings", ["kube-system", "kubernetes-dashboard", "istio-operator"], "Namespaces to freeze.", short="n"),
    Flag("all-namespaces", "bool", help="All namespaces.", short="A"),
    Flag("output", short="o", default="text", help="How to report: text or json.", choices=("text", "json")),
)
_WHY = "a cluster can only be running or stopped so far; `minikube stop` frees its processor time"

COMMANDS = {
    "pause": Command("pause", "pause Kubernetes", flags=_FLAGS, report_steps=True, unbuilt=_WHY),
    "unpause": Command("unpause", "unpause Kubernetes", flags=_FLAGS, aliases=("resume",), report_steps=True, unbuilt=_WHY),
}
