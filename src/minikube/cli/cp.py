"""`minikube cp`."""

from __future__ import annotations

from minikube.cli.command import Command

COMMANDS = {
    "cp": Command(
        "cp",
        "Copy the specified file into minikube",
        arguments="[NODE:]SOURCE [NODE:]TARGET",
        unbuilt="`minikube ssh -- 'cat > FILE' < FILE` copies a file meanwhile",
        examples=("minikube cp a.txt /home/a.txt",),
    )
}
