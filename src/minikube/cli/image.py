"""`minikube image`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

_WHY = "until then: minikube ssh -- ctr -n k8s.io images import - < image.tar"
_DAEMON = Flag("daemon", "bool", help="From, or to, the docker daemon of this machine.")
_REMOTE = Flag("remote", "bool", help="From, or to, a registry.")

COMMANDS = {
    "image": Command(
        "image",
        "Manage images",
        subcommands=(
            Command(
                "build",
                "Build a container image in minikube",
                flags=(
                    Flag("tag", help="Name of the image.", short="t"),
                    Flag("file", help="Path of the Dockerfile.", short="f"),
                    Flag("push", "bool", help="Push the image."),
                    Flag("build-env", "stringArray", help="Environment of the build (key=value)."),
                    Flag("build-opt", "stringArray", help="Options of the build (key=value)."),
                    Flag("node", help="The node to build on.", short="n"),
                    Flag("all", "bool", help="Build on all nodes."),
                ),
                arguments="PATH | URL | -",
                unbuilt=_WHY,
            ),
            Command(
                "load",
                "Load an image into minikube",
                flags=(
                    _DAEMON,
                    _REMOTE,
                    Flag("pull", "bool", help="Pull the remote image first."),
                    Flag("overwrite", "bool", True, "Replace an image of the same name."),
                ),
                arguments="IMAGE | ARCHIVE | -",
                unbuilt=_WHY,
            ),
            Command(
                "ls",
                "List images",
                flags=(Flag("format", default="short", help="short, table, json or yaml.", choices=("short", "table", "json", "yaml")),),
                aliases=("list",),
                unbuilt=_WHY,
            ),
            Command("pull", "Pull images", arguments="IMAGE", unbuilt=_WHY),
            Command("push", "Push images", arguments="IMAGE", unbuilt=_WHY),
            Command("rm", "Remove one or more images", aliases=("remove", "unload"), arguments="IMAGE", unbuilt=_WHY),
            Command("save", "Save an image from minikube", flags=(_DAEMON, _REMOTE), arguments="IMAGE [ARCHIVE | -]", unbuilt=_WHY),
            Command("tag", "Tag images", arguments="SOURCE TARGET", unbuilt=_WHY),
        ),
    )
}
