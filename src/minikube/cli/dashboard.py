"""`minikube dashboard`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

COMMANDS = {
    "dashboard": Command(
        "dashboard",
        "Access the Kubernetes dashboard running within the minikube cluster",
        flags=(
            Flag("url", "bool", help="Print the address instead of opening it."),
            Flag("port", "int", 0, "Port of the proxy; 0 for any."),
        ),
        unbuilt="the dashboard addon does not exist yet",
    )
}
