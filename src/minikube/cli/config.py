"""`minikube config`: the user's own defaults."""

from __future__ import annotations

import sys

from minikube.cli.command import Call, Command
from minikube.output import console
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag

_VIEW = "- {{.ConfigKey}}: {{.ConfigValue}}\n"


def _set(call: Call) -> None:
    from minikube.cli.configkeys import KEYS, Invalid, value_of
    from minikube.profiles.userconfig import set_value

    name, text = call.settings.arguments
    if name not in KEYS:
        raise Reason("MK_CONFIG_SET", f'Set failed: find settings for "{name}" value of "{text}": property name "{name}" not found')
    try:
        value = value_of(name, text)
    except Invalid as error:
        raise Reason("MK_CONFIG_SET", f'Set failed: run validations for "{name}" with value of "{text}": {error}') from None
    set_value(name, value)
    if KEYS[name].needs_restart:
        console.err("These changes will take effect upon a minikube delete and then a minikube start", "warning")


def _get(call: Call) -> int:
    from minikube.output.goformat import show
    from minikube.profiles.userconfig import read

    values = read()
    name = call.settings.arguments[0]
    if name not in values:
        print("Error: specified key could not be found in config", file=sys.stderr)
        return 14
    print(show(values[name]))
    return 0


def _unset(call: Call) -> None:
    from minikube.cli.configkeys import KEYS
    from minikube.profiles.userconfig import unset

    name = call.settings.arguments[0]
    if name not in KEYS:
        raise Reason("MK_CONFIG_UNSET", f'Unset failed: property name "{name}" not found')
    unset(name)


def _view(call: Call) -> None:
    from minikube.output.gotemplate import TemplateError, render
    from minikube.profiles.userconfig import read

    for key, value in sorted(read().items()):
        data = {"ConfigKey": key, "ConfigValue": value}
        try:
            sys.stdout.write(render(call.settings.get("format"), data, name="view"))
        except TemplateError as error:
            raise Reason("MK_VIEW_TMPL", f"Error creating view template: {error}") from None


def _defaults(call: Call) -> None:
    from minikube.cli.configkeys import KEYS, WITH_DEFAULTS, default_values

    name, output = call.settings.arguments[0], call.settings.get("output")
    if name not in KEYS:
        raise Reason("MK_USAGE", f'property name "{name}" not found')
    if name not in WITH_DEFAULTS:
        hint = "to see valid options run `minikube config defaults -h`"
        raise Reason("MK_USAGE", f"{name} is not a valid option for the `defaults` command; {hint}")
    if output not in ("", "json", "yaml"):
        raise Reason("MK_USAGE", f"invalid output format: {output}. Valid values: 'json', 'yaml'")
    values = default_values(name)
    if output == "json":
        import json

        print(json.dumps(values))
    else:
        bullet = "-" if output == "yaml" else "*"
        print("\n".join(f"{bullet} {value}" for value in values))


def _details() -> str:
    from minikube.cli.configkeys import KEYS

    fields = "\n".join(f" * {name}" for name in KEYS)
    return (
        f'config modifies minikube\'s own configuration file, as in "minikube config set driver native".\nConfigurable fields:\n\n{fields}'
    )


COMMANDS = {
    "config": Command(
        "config",
        "Modify persistent configuration values",
        details=_details,
        subcommands=(
            Command(
                "set",
                "Sets an individual value in a minikube config file",
                _set,
                arguments="PROPERTY_NAME PROPERTY_VALUE",
                min_arguments=2,
                max_arguments=2,
                keeps_empty=True,
                examples=("minikube config set memory 4g", "minikube config set driver native"),
            ),
            Command(
                "get",
                "Gets the value of PROPERTY_NAME from the minikube config file",
                _get,
                arguments="PROPERTY_NAME",
                min_arguments=1,
                max_arguments=1,
            ),
            Command(
                "unset",
                "unsets an individual value in a minikube config file",
                _unset,
                arguments="PROPERTY_NAME",
                min_arguments=1,
                max_arguments=1,
            ),
            Command(
                "view",
                "Display values currently set in the minikube config file",
                _view,
                flags=(Flag("format", default=_VIEW, help="Go template for each value: {{.ConfigKey}}, {{.ConfigValue}}."),),
                max_arguments=0,
            ),
            Command(
                "defaults",
                "Lists all valid default values for PROPERTY_NAME",
                _defaults,
                flags=(Flag("output", short="o", help="json or yaml.", choices=("json", "yaml")),),
                arguments="PROPERTY_NAME",
                min_arguments=1,
                max_arguments=1,
                details="Lists all valid default values for driver and kubernetes-version.",
            ),
        ),
    )
}
