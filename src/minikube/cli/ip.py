"""`minikube ip`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag


def _run(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.nodes import address

    print(address(profile, call.settings.get("node")))


COMMANDS = {
    "ip": Command(
        "ip",
        "Retrieves the IP address of the specified node",
        _run,
        flags=(Flag("node", short="n", help="The node. Defaults to the first control plane."),),
        examples=("minikube ip", "curl http://$(minikube ip):30080"),
    )
}
