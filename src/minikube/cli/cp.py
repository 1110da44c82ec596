"""`minikube cp`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command


def _run(call: Call) -> None:
    if len(call.settings.arguments) != 2:
        from minikube.output.reason import Reason

        raise Reason(
            "MK_USAGE",
            "Please specify the path to copy: \n\tminikube cp <source file path> <target file absolute path> "
            '(example: "minikube cp a/b.txt /copied.txt")',
        )
    profile = checks.existing_profile(call)
    from minikube.cluster.copying import copy

    copy(profile, *call.settings.arguments)


COMMANDS = {
    "cp": Command(
        "cp",
        "Copy the specified file into minikube",
        _run,
        arguments="[NODE:]SOURCE [NODE:]TARGET",
        keeps_empty=True,
        details="Copies a file between this machine and a node, or between nodes, with its mode. Without any node, the target is in the "
        "first one. A target that is a directory, or ends with a slash, keeps the file's name.",
        examples=("minikube cp a.txt /home/a.txt", "minikube cp a.txt minikube:/home/", "minikube cp minikube:/etc/hosts node-hosts.txt"),
    )
}
