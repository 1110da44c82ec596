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


def _key(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.existing import require_node
    from minikube.profiles.paths import machine_directory

    require_node(profile, call.settings.get("node"))
    print(machine_directory(profile) / "id_rsa")


def _host(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster import existing
    from minikube.output.reason import Reason

    existing.running_node(profile, call.settings.get("node"))
    driver = existing.facts(profile).driver
    raise Reason(
        "MK_USAGE",
        f"'{driver}' driver does not support 'minikube ssh-host' command",
        advice="No SSH server runs in the node: `minikube ssh` and `minikube cp` need none.",
    )


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
        _key,
        flags=(_NODE,),
        details="Prints where the key of a node is, or would be: native nodes are entered without SSH and have none.",
    ),
    "ssh-host": Command(
        "ssh-host",
        "Retrieve the ssh host key of the specified node",
        _host,
        flags=(_NODE, Flag("append-known", "bool", help="Add the key to ~/.ssh/known_hosts.")),
        details="Refused for native nodes: no SSH server runs in them.",
    ),
}
