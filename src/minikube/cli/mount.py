"""`minikube mount`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

COMMANDS = {
    "mount": Command(
        "mount",
        "Mounts the specified directory into minikube",
        flags=(
            Flag("9p-version", default="9p2000.L", help="Version of the 9p protocol."),
            Flag("gid", default="docker", help="Group of mounted files."),
            Flag("uid", default="docker", help="Owner of mounted files."),
            Flag("ip", help="Address of the file server."),
            Flag("port", "int", 0, "Port of the file server; 0 for any."),
            Flag("msize", "int", 262144, "Bytes in a 9p packet."),
            Flag("options", "strings", help="Further mount options."),
            Flag("type", default="9p", help="File system of the mount."),
            Flag("kill", "bool", help="End the mount that `start --mount-string` began."),
            Flag("mode", "int", 0o755, "Permissions of mounted files.", hidden=True),
        ),
        arguments="SOURCE:TARGET",
        unbuilt="directories of this machine cannot be shown in a node yet",
    )
}
