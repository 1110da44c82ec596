"""`minikube tunnel`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

COMMANDS = {
    "tunnel": Command(
        "tunnel",
        "Connect to LoadBalancer services",
        flags=(
            Flag("cleanup", "bool", True, "Remove what an earlier tunnel left.", short="c"),
            Flag("bind-address", help="Address to listen on."),
        ),
        unbuilt="services of type NodePort are reached at the node's address (`minikube ip`)",
    )
}
