"""The table of commands: what each is for, and which module has it. Only the module of the command that runs is imported."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.cli.command import Command

# name -> (group, module, summary)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "start": ("Basic Commands", "start", "Starts a local Kubernetes cluster"),
    "status": ("Basic Commands", "status", "Gets the status of a local Kubernetes cluster"),
    "stop": ("Basic Commands", "stop", "Stops a running local Kubernetes cluster"),
    "delete": ("Basic Commands", "delete", "Deletes a local Kubernetes cluster"),
    "dashboard": ("Basic Commands", "dashboard", "Access the Kubernetes dashboard running within the minikube cluster"),
    "pause": ("Basic Commands", "pause", "pause Kubernetes"),
    "unpause": ("Basic Commands", "pause", "unpause Kubernetes"),
    "docker-env": ("Images Commands", "environments", "Provides instructions to point your terminal's docker-cli to the cluster"),
    "podman-env": ("Images Commands", "environments", "Configure environment to use minikube's Podman service"),
    "cache": ("Images Commands", "cache", "Manage cache for images"),
    "image": ("Images Commands", "image", "Manage images"),
    "bundle": ("Images Commands", "bundle", "Everything a start needs in one file, for machines without a network"),
    "addons": ("Configuration and Management Commands", "addons", "Enable or disable a minikube addon"),
    "drivers": ("Configuration and Management Commands", "drivers", "Lists the drivers of this machine and whether they work"),
    "config": ("Configuration and Management Commands", "config", "Modify persistent configuration values"),
    "profile": ("Configuration and Management Commands", "profile", "Get or list the current profiles (clusters)"),
    "update-context": ("Configuration and Management Commands", "context", "Update kubeconfig in case of an IP or port change"),
    "service": ("Networking and Connectivity Commands", "service", "Returns a URL to connect to a service"),
    "tunnel": ("Networking and Connectivity Commands", "tunnel", "Connect to LoadBalancer services"),
    "mount": ("Advanced Commands", "mount", "Mounts the specified directory into minikube"),
    "ssh": ("Advanced Commands", "ssh", "Log into the minikube environment (for debugging)"),
    "kubectl": ("Advanced Commands", "kubectl", "Run a kubectl binary matching the cluster version"),
    "node": ("Advanced Commands", "node", "Add, remove, or list additional nodes"),
    "cp": ("Advanced Commands", "cp", "Copy the specified file into minikube"),
    "sync": ("Advanced Commands", "sync", "Copy ~/.minikube/files into the cluster's node again, without a restart"),
    "ssh-key": ("Troubleshooting Commands", "ssh", "Retrieve the ssh identity key path of the specified node"),
    "ssh-host": ("Troubleshooting Commands", "ssh", "Retrieve the ssh host key of the specified node"),
    "doctor": ("Troubleshooting Commands", "doctor", "Checks whether this machine has everything a start needs"),
    "ip": ("Troubleshooting Commands", "ip", "Retrieves the IP address of the specified node"),
    "logs": ("Troubleshooting Commands", "logs", "Returns logs to debug a local Kubernetes cluster"),
    "update-check": ("Troubleshooting Commands", "about", "Print current and latest version number"),
    "version": ("Troubleshooting Commands", "version", "Print the version of minikube"),
    "options": ("Troubleshooting Commands", "about", "Show a list of global command-line options (applies to all commands)."),
    "license": ("Troubleshooting Commands", "about", "Outputs the licenses of dependencies to a directory"),
    "sbom": ("Troubleshooting Commands", "sbom", "Prints the bill of materials of a cluster (SPDX)"),
    "completion": ("Other Commands", "completion", "Generate command completion for a shell"),
    "help": ("Other Commands", "about", "Help about any command"),
    "generate-docs": ("", "about", "Populates the specified folder with documentation in markdown about minikube"),
    "__complete": ("", "completion", "What a shell asks for completions"),
}

ALIASES = {"resume": "unpause"}


def load(name: str) -> Command | None:
    """The command of that name or alias, None if there is none."""
    name = ALIASES.get(name, name)
    if name not in COMMANDS:
        return None
    # The bare function: importlib's wrapper is a module of its own to load.
    commands: dict[str, Command] = __import__(f"minikube.cli.{COMMANDS[name][1]}", fromlist=["COMMANDS"]).COMMANDS
    return commands[name]
