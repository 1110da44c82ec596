"""Small commands about the program itself: options, help, license, update-check, generate-docs."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag


def _options(call: Call) -> None:
    from minikube.cli.help import global_help

    print(global_help())


def _help(call: Call) -> None:
    from minikube.cli.help import show_help
    from minikube.cli.parser import understand

    invocation = understand([word for word in call.settings.arguments if not word.startswith("-")])
    show_help(invocation.path, invocation.command)


COMMANDS = {
    "options": Command(
        "options", "Show a list of global command-line options (applies to all commands).", _options, max_arguments=0, uses_file=False
    ),
    "help": Command("help", "Help about any command", _help, arguments="[COMMAND]", uses_file=False),
    "license": Command(
        "license",
        "Outputs the licenses of dependencies to a directory",
        flags=(Flag("dir", short="d", default=".", help="Directory to write to."),),
        unbuilt="there is no archive of the components' licences to download; the licence of minikube itself is its file LICENSE",
    ),
    "update-check": Command(
        "update-check",
        "Print current and latest version number",
        unbuilt="there is no place on the internet that names the latest version; `minikube version` prints this one",
    ),
    "generate-docs": Command(
        "generate-docs",
        "Populates the specified folder with documentation in markdown about minikube",
        flags=(
            Flag("path", help="Directory for the documentation."),
            Flag("test-path", help="Directory for the documentation of tests."),
            Flag("code-path", help="Directory for the documentation of error codes."),
        ),
        unbuilt="`minikube help COMMAND` prints the same words",
        hidden=True,
    ),
}
