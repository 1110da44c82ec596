"""`minikube addons`."""

from __future__ import annotations

import sys

from minikube.addons.catalogue import WHY_NOT
from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _list(call: Call) -> None:
    """What a profile has; without one, just what there is."""
    output = call.output("list", "json")
    from minikube.addons.catalogue import ADDONS
    from minikube.profiles.profile import list_profiles, load

    profile = call.settings.profile
    config = load(profile) if "/" not in profile and "\0" not in profile else None
    if config is None and call.settings.changed("profile"):
        from minikube.output.notready import profile_not_found

        raise profile_not_found(profile)
    enabled = {name for name, on in ((config.Addons if config else None) or {}).items() if on}
    if output == "json":
        import json

        rows = {name: {"Profile": profile, "Status": "enabled" if name in enabled else "disabled"} if config else {} for name in ADDONS}
        print(json.dumps(rows, separators=(",", ":")))
        return
    from minikube.cli.table import boxed

    docs = call.settings.get("docs")
    header = ["ADDON NAME", *(["PROFILE", "STATUS"] if config else []), "MAINTAINER", *(["DOCS"] if docs else [])]
    table = []
    for name, (maintainer, page) in ADDONS.items():
        state = [profile, "enabled ✅" if name in enabled else "disabled"] if config else []
        table.append([name, *state, maintainer, *([page or "n/a"] if docs else [])])
    sys.stdout.write(boxed(header, table))
    if config and len(list_profiles().valid) > 1:
        call.report.info("To see addons list for other profiles use: `minikube addons -p name list`", style="tip")


def _enable(call: Call) -> None:
    from minikube.addons.catalogue import require_built, require_known
    from minikube.cli import checks

    name = call.settings.arguments[0]
    require_known(name)
    profile = checks.existing_profile(call)
    require_built(name)
    from minikube.cluster.addons import enable

    enable(profile, name, call.report)
    call.report.info(f"The '{name}' addon is enabled", style="addons")


def _disable(call: Call) -> None:
    from minikube.addons.catalogue import ADDONS, BUILT
    from minikube.cli import checks

    name = call.settings.arguments[0]
    if name not in ADDONS:
        raise Reason("SVC_ADDON_UNSUPPORTED", f'"{name}" is not a valid minikube addon')
    profile = checks.existing_profile(call)
    if name in BUILT:
        from minikube.cluster.addons import disable

        disable(profile, name, call.report)
    call.report.info(f"The '{name}' addon is disabled", style="addons")


COMMANDS = {
    "addons": Command(
        "addons",
        "Enable or disable a minikube addon",
        subcommands=(
            Command(
                "list",
                "Lists all available minikube addons as well as their current statuses (enabled/disabled)",
                _list,
                flags=(
                    Flag("output", short="o", default="list", help="list or json.", choices=("list", "json")),
                    Flag("docs", "bool", help="Show where each addon is documented.", short="d"),
                ),
                max_arguments=0,
                examples=("minikube addons list", "minikube addons list -o json"),
            ),
            Command(
                "enable",
                "Enables the addon w/ADDON_NAME within minikube",
                _enable,
                flags=(
                    Flag("images", help="Other images, written Key=image,…"),
                    Flag("registries", help="Other registries, written Key=registry,…"),
                    Flag("force", "bool", help="Enable it even where a check refuses."),
                    Flag("refresh", "bool", help="Refresh pods that were made before (gcp-auth)."),
                ),
                arguments="ADDON_NAME",
                min_arguments=1,
                max_arguments=1,
                details=f"Enables an addon. Not built yet: {WHY_NOT}.",
            ),
            Command(
                "disable",
                "Disables the addon w/ADDON_NAME within minikube",
                _disable,
                arguments="ADDON_NAME",
                min_arguments=1,
                max_arguments=1,
            ),
            Command(
                "configure",
                "Configures the addon w/ADDON_NAME within minikube",
                flags=(Flag("config-file", help="File with the answers.", short="f"),),
                arguments="ADDON_NAME",
                unbuilt=WHY_NOT,
            ),
            Command(
                "images",
                "List image names the addon w/ADDON_NAME used. For a list of available addons use: minikube addons list",
                flags=(Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),),
                arguments="ADDON_NAME",
                unbuilt=WHY_NOT,
            ),
            Command(
                "open",
                "Opens the addon w/ADDON_NAME within minikube",
                flags=(
                    Flag("url", "bool", help="Print the address instead of opening it."),
                    Flag("https", "bool", help="Open it with https."),
                    Flag("format", default="http://{{.IP}}:{{.Port}}", help="Go template of the address."),
                    Flag("wait", "int", 2, "Seconds to wait for the service."),
                    Flag("interval", "int", 1, "Seconds between looks."),
                ),
                arguments="ADDON_NAME",
                unbuilt=WHY_NOT,
            ),
        ),
    )
}
