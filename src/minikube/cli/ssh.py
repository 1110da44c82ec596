"""`minikube ssh`, and the facts about keys that `ssh-key` and `ssh-host` give."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from minikube.output.reason import Reason

_NODE = Flag("node", short="n", help="The node. Defaults to the first control plane.")


def _run(call: Call) -> int:
    profile = checks.existing_profile(call)
    from minikube.cluster.ssh import ssh

    return ssh(profile, call.settings.arguments, call.settings.get("node"))


def _key(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.ssh import key

    print(key(profile, call.settings.get("node")))


def _host(call: Call) -> None:
    profile = checks.existing_profile(call)
    from minikube.cluster.ssh import append_known, host_keys

    lines = host_keys(profile, call.settings.get("node"))
    if not lines:
        raise _no_server(profile)
    if call.settings.get("append-known"):
        append_known(lines)
    else:
        print("\n".join(lines))


def _no_server(profile: str) -> Reason:
    from minikube.cluster import existing
    from minikube.output.reason import Reason

    return Reason(
        "MK_USAGE",
        f"'{existing.facts(profile).driver}' driver does not support 'minikube ssh-host' command",
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
        details="Prints where the key for a node's machine is (ssh), or would be: native nodes are entered without SSH and have none.",
    ),
    "ssh-host": Command(
        "ssh-host",
        "Retrieve the ssh host key of the specified node",
        _host,
        flags=(_NODE, Flag("append-known", "bool", help="Add the key to ~/.ssh/known_hosts.")),
        details="Prints the host keys that were pinned on first use (ssh). Refused for native nodes: no SSH server runs in them.",
    ),
}
