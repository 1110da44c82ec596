"""`minikube docker-env` and `minikube podman-env`: scripts for `eval`, so a failure must be one that the shell sees, too."""

from __future__ import annotations

import sys

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag

_SHELL = Flag("shell", help="Write for this shell: fish, cmd, powershell, tcsh, bash, zsh. Found out if left out.")
_UNSET = Flag("unset", "bool", help="Write what takes the variables back.", short="u")
_DOCKER = ["DOCKER_TLS_VERIFY", "DOCKER_HOST", "DOCKER_CERT_PATH", "MINIKUBE_ACTIVE_DOCKERD"]
_PODMAN = ["PODMAN_VARLINK_BRIDGE", "CONTAINER_HOST", "CONTAINER_SSHKEY", "MINIKUBE_ACTIVE_PODMAN"]


def _docker(call: Call) -> None:
    if call.settings.get("output"):
        call.output("text", "yaml", "json")
    _write(call, _DOCKER, 'The docker-env command is only compatible with the "docker" runtime')


def _podman(call: Call) -> None:
    _write(call, _PODMAN, 'The podman-env command is only compatible with the "crio" runtime')


def _write(call: Call, names: list[str], compatible: str) -> None:
    if call.settings.get("unset"):
        from minikube.cli.shellvariables import current_shell, taken_back

        sys.stdout.write(taken_back(names, call.settings.get("shell") or current_shell()))
        return
    try:
        profile = checks.existing_profile(call)
        from minikube.cluster import existing

        existing.running_node(profile)
    except Reason as reason:
        raise _for_eval(reason) from None
    raise _for_eval(
        Reason(
            "MK_USAGE",
            f'{compatible}, but this cluster was configured to use the "containerd" runtime.',
            advice="Other runtimes are not built yet. `minikube image load` brings images in.",
        )
    )


def _for_eval(reason: Reason) -> Reason:
    """Sentences go to stderr, whatever kind of reason it is; `eval $(minikube docker-env)` gets a command that fails."""
    if not sys.stdout.isatty():
        print(f"false exit code {reason.exit_code}")
    return Reason(reason.id, reason.message, advice=reason.advice, exit_code=reason.exit_code)


COMMANDS = {
    "docker-env": Command(
        "docker-env",
        "Provides instructions to point your terminal's docker-cli to the cluster",
        _docker,
        flags=(
            _SHELL,
            _UNSET,
            Flag("no-proxy", "bool", help="Add the node's address to NO_PROXY."),
            Flag("ssh-host", "bool", help="Reach docker through SSH."),
            Flag("ssh-add", "bool", help="Add the node's key to the SSH agent."),
            Flag("output", short="o", help="text, yaml or json.", choices=("text", "yaml", "json")),
        ),
        details="Refused so far: it needs the docker runtime, which is not built yet. --unset works.",
    ),
    "podman-env": Command(
        "podman-env",
        "Configure environment to use minikube's Podman service",
        _podman,
        flags=(_SHELL, _UNSET),
        details="Refused so far: it needs the cri-o runtime, which is not built yet. --unset works.",
    ),
}
