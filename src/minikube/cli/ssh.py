"""`minikube ssh`, and the facts about keys that `ssh-key` and `ssh-host` give."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

_NODE = Flag("node", short="n", help="The node. Defaults to the first control plane.")


def _run(call: Call) -> int:
    profile = checks.existing_profile(call)
    from minikube.cluster.ssh import ssh

    return ssh(profile, call.settings.arguments, call.settings.get("node"))


COMMANDS = {
    "ssh": Command(
        "ssh",
        "Log into the minikube environment (for debugging)",
        _run,
        flags=(
            _NODE,
            Flag("native-ssh", "bool", True, "Accepted for compatibility: no SSH is involved where the node is on this machine."),
        ),
        arguments="[-- COMMAND]",
        keeps_empty=True,
        details="Opens a shell in a node, or runs one command there and ends with its exit code.",
        examples=("minikube ssh", "minikube ssh -- crictl ps", "minikube ssh 'cat /etc/os-release | head -n 1'"),
    ),
    "ssh-key": Command(
        "ssh-key",
        "Retrieve the ssh identity key path of the specified node",
        flags=(_NODE,),
        unbuilt="native nodes are entered without SSH and have no keys; drivers with SSH are not built yet",
    ),
    "ssh-host": Command(
        "ssh-host",
        "Retrieve the ssh host key of the specified node",
        flags=(_NODE, Flag("append-known", "bool", help="Add the key to ~/.ssh/known_hosts.")),
        unbuilt="native nodes are entered without SSH and have no keys; drivers with SSH are not built yet",
    ),
}
