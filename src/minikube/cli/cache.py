"""`minikube cache`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

_WHY = "until then: minikube ssh -- ctr -n k8s.io images import - < image.tar"

COMMANDS = {
    "cache": Command(
        "cache",
        "Manage cache for images",
        subcommands=(
            Command(
                "add",
                "Add an image to local cache.",
                flags=(Flag("all", "bool", help="Add it to all clusters."),),
                arguments="IMAGE",
                unbuilt=_WHY,
            ),
            Command("delete", "Delete an image from the local cache.", arguments="IMAGE", unbuilt=_WHY),
            Command(
                "list",
                "List all available images from the local cache.",
                flags=(Flag("format", default="{{.CacheImage}}\n", help="Go template for each image: {{.CacheImage}}."),),
                unbuilt=_WHY,
            ),
            Command("reload", "reload cached images.", unbuilt=_WHY),
        ),
    )
}
