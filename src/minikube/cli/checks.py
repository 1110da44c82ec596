"""What can be refused before anything is looked up: counts of arguments, names that are too long."""

from __future__ import annotations

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from minikube.cli.command import Call


def arguments(call: Call) -> None:
    command, given = call.command, call.settings.arguments
    usage = f"Usage: {call.path} {command.arguments}".rstrip()
    if len(given) < command.min_arguments:
        raise Reason("MK_USAGE", f"not enough arguments ({len(given)}).\n{usage}")
    if command.max_arguments is not None and len(given) > command.max_arguments:
        raise Reason("MK_USAGE", usage if command.max_arguments == 0 else f"too many arguments ({len(given)}).\n{usage}")
    if call.settings.changed("user") and len(call.settings.get("user")) > 60:
        raise Reason("MK_USAGE", "User name must be 60 chars or less.")


def existing_profile(call: Call) -> str:
    """The profile's name, if there is such a profile; exit code 85 otherwise."""
    from minikube.profiles.glance import exists

    name = call.settings.profile
    if "/" in name or "\0" in name or not exists(name):
        from minikube.output.notready import profile_not_found

        raise profile_not_found(name)
    return name
