"""`minikube docker-env` and `minikube podman-env`."""

from __future__ import annotations

from minikube.cli.command import Command
from minikube.profiles.settings import Flag

_SHELL = Flag("shell", help="Write for this shell: fish, cmd, powershell, tcsh, bash, zsh. Found out if left out.")
_UNSET = Flag("unset", "bool", help="Write what takes the variables back.", short="u")

COMMANDS = {
    "docker-env": Command(
        "docker-env",
        "Provides instructions to point your terminal's docker-cli to the cluster",
        flags=(
            _SHELL,
            _UNSET,
            Flag("no-proxy", "bool", help="Add the node's address to NO_PROXY."),
            Flag("ssh-host", "bool", help="Reach docker through SSH."),
            Flag("ssh-add", "bool", help="Add the node's key to the SSH agent."),
            Flag("output", short="o", help="text, yaml or json.", choices=("text", "yaml", "json")),
        ),
        unbuilt="the docker runtime is not built yet; clusters run containerd",
    ),
    "podman-env": Command(
        "podman-env",
        "Configure environment to use minikube's Podman service",
        flags=(_SHELL, _UNSET),
        unbuilt="the cri-o runtime is not built yet; clusters run containerd",
    ),
}
