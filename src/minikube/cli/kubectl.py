"""`minikube kubectl`, and being called as `kubectl`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag


def as_kubectl(words: list[str]) -> list[str]:
    """The words of `minikube` that mean what `kubectl WORDS` says: the context names the profile."""
    context = ""
    for index, word in enumerate(words):
        if word == "--":
            break
        if word == "--context" and index + 1 < len(words):
            context = words[index + 1]
        elif word.startswith("--context="):
            context = word.partition("=")[2]
    return ["kubectl", *([f"--profile={context}"] if context else []), "--", *words]


def _run(call: Call) -> int | None:
    profile = checks.existing_profile(call)
    words = call.settings.arguments
    if call.settings.get("ssh"):
        return _in_node(profile, words)
    from minikube.cluster.kubectl import argv
    from minikube.host.process import become

    return become(argv(profile, words))


def _in_node(profile: str, words: list[str]) -> int:
    import shlex

    from minikube.cluster.ssh import ssh

    return ssh(profile, [shlex.join(["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", *words])], "")


COMMANDS = {
    "kubectl": Command(
        "kubectl",
        "Run a kubectl binary matching the cluster version",
        _run,
        flags=(Flag("ssh", "bool", help="Run the kubectl of the node, in the node."),),
        arguments="-- KUBECTL-ARGUMENTS",
        keeps_empty=True,
        details="Runs the kubectl that fits the cluster, for the cluster of the profile. Words after -- are kubectl's own.",
        examples=("minikube kubectl -- get pods -A", "minikube kubectl -p second -- describe nodes"),
    )
}
