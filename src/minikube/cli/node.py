"""`minikube node`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

_WHY = "clusters have exactly one node so far"
_DELETE = Flag("delete-on-failure", "bool", help="If the start fails, delete the node and try once more.")


def _list(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.nodes import listing

    for name, address in listing(profile):
        print(f"{name}\t{address}")


COMMANDS = {
    "node": Command(
        "node",
        "Add, remove, or list additional nodes",
        subcommands=(
            Command(
                "add",
                "Adds a node to the given cluster.",
                flags=(
                    Flag("control-plane", "bool", help="A further control plane."),
                    Flag("worker", "bool", True, "A node for work."),
                    _DELETE,
                ),
                unbuilt=_WHY,
            ),
            Command("delete", "Deletes a node from a cluster.", arguments="NODE", unbuilt=_WHY),
            Command("list", "List nodes.", _list),
            Command("start", "Starts a node.", flags=(_DELETE,), arguments="NODE", unbuilt=_WHY),
            Command("stop", "Stops a node in a cluster.", arguments="NODE", unbuilt=_WHY),
        ),
    )
}
