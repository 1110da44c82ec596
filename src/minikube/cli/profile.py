"""`minikube profile`: show the active one, choose another, list all."""

from __future__ import annotations

import sys

from minikube.cli.command import Call, Command
from minikube.output import console
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _show_or_choose(call: Call) -> None:
    if not call.settings.arguments:
        print(call.settings.profile)
        return
    from minikube.profiles import profile as profiles
    from minikube.profiles.userconfig import set_value

    name = call.settings.arguments[0]
    if name == "default":
        name = profiles.DEFAULT_PROFILE
    profiles.validate_name(name)
    config = profiles.load(name)
    if config is None:
        console.err(f'Profile "{name}" does not exist', "sad")
        console.err(f"if you want to create a profile you can by this command: minikube start -p {name}", "tip")
        return
    set_value("profile", name)
    if config.KeepContext:
        call.report.info(f"Skipped switching kubectl context for {name} because --keep-context was set.", style="check")
        call.report.info(f"To connect to this cluster, use: kubectl --context={name}", style="check")
    else:
        _switch_context(name)
    call.report.info(f"minikube profile was successfully set to {name}", style="check")


def _switch_context(name: str) -> None:
    """kubectl follows, if it knows the cluster: a stopped one has no context to switch to."""
    from minikube.kubernetes import kubeconfig

    if not kubeconfig.endpoint(name):
        return
    try:
        kubeconfig.set_current_context(name)
    except Reason as reason:
        console.err(f"Error while setting kubectl current context: {reason.message}", "sad")


def _list(call: Call) -> None:
    output = call.output("table", "json")
    from minikube.cli.profilelist import as_json, as_table, find

    active, light = call.settings.profile, call.settings.get("light")
    if output == "json":
        print(as_json(active, light=light))
        return
    valid, invalid = find()
    if not valid:
        raise Reason("MK_USAGE_NO_PROFILE", "No minikube profile was found.")
    sys.stdout.write(as_table(valid, active, light=light, detailed=call.settings.get("detailed")))
    if invalid and not light:
        console.err(f"Found {len(invalid)} invalid profile(s) !", "warning")
        for name in invalid:
            console.err(f"\t {name}", "empty")
        console.err("You can delete them using the following command(s):", "tip")
        for name in invalid:
            console.err(f"\t $ minikube delete -p {name}", "empty")


COMMANDS = {
    "profile": Command(
        "profile",
        "Get or list the current profiles (clusters)",
        _show_or_choose,
        arguments="[MINIKUBE_PROFILE_NAME]",
        max_arguments=1,
        details="Shows the active profile, or makes another one active. `minikube profile default` goes back to the first one.",
        examples=("minikube profile", "minikube profile second", "minikube profile list -o json"),
        subcommands=(
            Command(
                "list",
                "Lists all minikube profiles.",
                _list,
                flags=(
                    Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),
                    Flag("light", "bool", help="Do not ask the clusters for their status.", short="l"),
                    Flag("detailed", "bool", help="More columns.", short="d"),
                ),
            ),
        ),
    )
}
