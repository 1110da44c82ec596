"""`minikube kubectl`, and being called as `kubectl`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag


def as_kubectl(words: list[str]) -> list[str]:
    """The words of `minikube` that mean what `kubectl WORDS` says: the context, named or current, is the profile.

    A kubectl also has to serve clusters of others: for a context that is no profile of ours, this process becomes the newest kubectl here.
    """
    from minikube.kubernetes.kubeconfigglance import current_context
    from minikube.profiles.glance import exists

    context = _option(words, "--context")
    elsewhere = not context and _option(words, "--kubeconfig")
    context = context or ("" if elsewhere else current_context() or _stopped_profile(words))
    if not context or "/" in context or "\0" in context or not exists(context):
        from minikube.cluster.kubectl import newest_binary
        from minikube.host.process import become

        binary = newest_binary()
        if binary:
            become([binary, *words])
    return ["kubectl", *([f"--profile={context}"] if context else []), "--", *words]


def _stopped_profile(words: list[str]) -> str:
    """The active profile, for a kubectl that knows no context: `stop` took it away, and `minikube kubectl` says so."""
    from minikube.profiles.profile import active_profile

    return "" if any(word.partition("=")[0] in ("--server", "-s") for word in words) else active_profile()


def _option(words: list[str], name: str) -> str:
    """The last value a command line gives for an option."""
    value = ""
    for index, word in enumerate(words):
        if word == "--":
            break
        if word == name and index + 1 < len(words):
            value = words[index + 1]
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
    return value


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
