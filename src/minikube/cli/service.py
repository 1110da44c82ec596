"""`minikube service`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

_WHY = "use the node's address (`minikube ip`) and the port that `kubectl get service` shows"

COMMANDS = {
    "service": Command(
        "service",
        "Returns a URL to connect to a service",
        flags=(
            Flag("namespace", default="default", help="Namespace of the service.", short="n"),
            Flag("url", "bool", help="Print the address instead of opening it."),
            Flag("all", "bool", help="All services of the namespace."),
            Flag("https", "bool", help="Open it with https."),
            Flag("wait", "int", 2, "Seconds to wait for the service."),
            Flag("interval", "int", 1, "Seconds between looks."),
        ),
        persistent=(Flag("format", default="http://{{.IP}}:{{.Port}}", help="Go template of the address: {{.IP}}, {{.Port}}, {{.Name}}."),),
        arguments="SERVICE",
        unbuilt=_WHY,
        subcommands=(
            Command(
                "list",
                "Lists the URLs for the services in your local cluster",
                flags=(
                    Flag("namespace", help="Namespace of the services; all if left out.", short="n"),
                    Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),
                ),
                unbuilt=_WHY,
            ),
        ),
    )
}
