"""`minikube service`."""

from __future__ import annotations

import sys

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag


def _list(call: Call) -> None:
    output = call.output("table", "json")
    profile = checks.existing_profile(call)
    from minikube.cluster.serviceurls import list_services

    found = list_services(profile, namespace=call.settings.get("namespace"), template=call.settings.get("format"))
    if output == "json":
        import json

        print(json.dumps([service._asdict() for service in found], separators=(",", ":")))
        return
    from minikube.cli.table import boxed

    rows = [[service.Namespace, service.Name, "\n".join(service.PortNames), "\n".join(service.URLs)] for service in found]
    sys.stdout.write(boxed(["NAMESPACE", "NAME", "TARGET PORT", "URL"], rows))


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
                _list,
                flags=(
                    Flag("namespace", help="Namespace of the services; all if left out.", short="n"),
                    Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),
                ),
                max_arguments=0,
                examples=("minikube service list", "minikube service list -n kube-system -o json"),
            ),
        ),
    )
}
