"""`minikube addons`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

_WHY = "only the two addons every cluster gets (default-storageclass, storage-provisioner) exist so far"

COMMANDS = {
    "addons": Command(
        "addons",
        "Enable or disable a minikube addon",
        subcommands=(
            Command(
                "list",
                "Lists all available minikube addons as well as their current statuses (enabled/disabled)",
                flags=(
                    Flag("output", short="o", default="list", help="list or json.", choices=("list", "json")),
                    Flag("docs", "bool", help="Show where each addon is documented.", short="d"),
                ),
                unbuilt=_WHY,
            ),
            Command(
                "enable",
                "Enables the addon w/ADDON_NAME within minikube",
                flags=(
                    Flag("images", help="Other images, written Key=image,…"),
                    Flag("registries", help="Other registries, written Key=registry,…"),
                    Flag("force", "bool", help="Enable it even where a check refuses."),
                    Flag("refresh", "bool", help="Refresh pods that were made before (gcp-auth)."),
                ),
                arguments="ADDON_NAME",
                unbuilt=_WHY,
            ),
            Command("disable", "Disables the addon w/ADDON_NAME within minikube", arguments="ADDON_NAME", unbuilt=_WHY),
            Command(
                "configure",
                "Configures the addon w/ADDON_NAME within minikube",
                flags=(Flag("config-file", help="File with the answers.", short="f"),),
                arguments="ADDON_NAME",
                unbuilt=_WHY,
            ),
            Command(
                "images",
                "List image names the addon w/ADDON_NAME used. For a list of available addons use: minikube addons list",
                flags=(Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),),
                arguments="ADDON_NAME",
                unbuilt=_WHY,
            ),
            Command(
                "open",
                "Opens the addon w/ADDON_NAME within minikube",
                flags=(
                    Flag("url", "bool", help="Print the address instead of opening it."),
                    Flag("https", "bool", help="Open it with https."),
                    Flag("format", default="http://{{.IP}}:{{.Port}}", help="Go template of the address."),
                    Flag("wait", "int", 2, "Seconds to wait for the service."),
                    Flag("interval", "int", 1, "Seconds between looks."),
                ),
                arguments="ADDON_NAME",
                unbuilt=_WHY,
            ),
        ),
    )
}
