"""The kubectl that fits the cluster."""

from __future__ import annotations

import os

from minikube.cluster import existing
from minikube.host.system import architecture
from minikube.output.reason import Reason
from minikube.profiles.paths import home_text, pause_hint

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Sequence

    from minikube.profiles.glance import Glance

# What kubectl does without asking any cluster.
OFFLINE = frozenset({"completion", "config", "help", "kustomize", "options", "plugin"})


def binary(version: str) -> str:
    """Where `start` left the kubectl of a version: upstream's place, so that other tools find it too."""
    return f"{home_text()}/cache/linux/{architecture()}/{version}/kubectl"


def newest_binary() -> str:
    """The newest kubectl that any cluster of this home brought, empty if there is none."""
    directory = f"{home_text()}/cache/linux/{architecture()}"
    try:
        found = [name for name in os.listdir(directory) if os.access(f"{directory}/{name}/kubectl", os.X_OK)]  # noqa: PTH208
    except OSError:
        return ""
    newest = max(found, key=lambda name: [int(part) if part.isdigit() else -1 for part in name.lstrip("v").split(".")], default="")
    return f"{directory}/{newest}/kubectl" if newest else ""


def argv(profile: str, arguments: Sequence[str]) -> list[str]:
    """The command line to become: kubectl, told which cluster unless the user did."""
    found = existing.facts(profile)
    version = found.kubernetes_version
    path = binary(version)
    asks_cluster = arguments and arguments[0] not in OFFLINE and not (arguments[0] == "version" and "--client" in arguments)
    if asks_cluster:
        _refuse_if_paused(found)
        _bring_within_reach(found)
    if not os.access(path, os.X_OK):
        raise Reason(
            "INET_CACHE_KUBECTL",
            f"kubectl {version} is not in the store",
            advice=f"minikube start -p {profile} puts it there.",
        )
    if asks_cluster:
        _refuse_if_stopped(profile, arguments)
    return [path, *_with_context(profile, arguments)]


def _refuse_if_paused(found: Glance) -> None:
    """A frozen API server takes connections and never answers: kubectl would hang. The hint spares all others the question."""
    hint = pause_hint(found.name)
    if not os.path.exists(hint):  # noqa: PTH110
        return
    from minikube.cluster.pausing import is_paused

    machine = existing.driver(found)
    if machine.state() == "Running" and is_paused(machine.node()):
        from minikube.output import notready

        raise notready.apiserver_paused(found.name)
    os.unlink(hint)  # noqa: PTH108 - stopped or started since: it was only a hint


def _refuse_if_stopped(profile: str, arguments: Sequence[str]) -> None:
    """`stop` takes the context away: kubectl would complain of the kubeconfig, not of what is wrong."""
    if any(word.partition("=")[0] in ("--context", "--cluster", "--kubeconfig", "--server", "-s") for word in arguments):
        return
    from minikube.kubernetes.kubeconfigglance import endpoint

    if not endpoint(profile):
        existing.running_node(profile)


def _bring_within_reach(found: Glance) -> None:
    """A node on another machine is reached through a connection that may have been lost since; one on this host always is."""
    if found.driver != "none":
        machine = existing.driver(found)
        if machine.state() == "Running":
            machine.node().forward(found.port)


def _with_context(profile: str, arguments: Sequence[str]) -> list[str]:
    """`--context=<profile>` before the first flag; plugins and sub-commands keep their place. A context or cluster of the user's wins."""
    words = list(arguments)
    if any(word == "--context" or word.startswith(("--context=", "--cluster=")) or word == "--cluster" for word in words):
        return words
    first_flag = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    return [*words[:first_flag], f"--context={profile}", *words[first_flag:]]
