"""Small commands about the program itself: options, help, license, update-check, generate-docs."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _options(call: Call) -> None:
    from minikube.cli.help import global_help

    print(global_help())


def _help(call: Call) -> None:
    from minikube.cli.help import show_help
    from minikube.cli.parser import understand

    invocation = understand([word for word in call.settings.arguments if not word.startswith("-")])
    show_help(invocation.path, invocation.command)


def _update_check(call: Call) -> None:
    from minikube import __version__
    from minikube.cluster.releases import newest

    print(f"CurrentVersion: v{__version__}", flush=True)
    print(f"LatestVersion: {newest()}")


def _license(call: Call) -> None:
    from pathlib import Path

    from minikube.artifacts.licences import gather

    directory = Path(call.settings.get("dir")) / "licenses"
    try:
        found = gather(directory)
    except OSError as error:
        raise Reason("INET_LICENSES", f"{error.filename or directory} cannot be written: {error.strerror}") from None
    call.report.info(
        f"Licenses of {found.modules} Go modules and {found.packages} Python packages were written to {directory}", style="check"
    )


COMMANDS = {
    "options": Command(
        "options", "Show a list of global command-line options (applies to all commands).", _options, max_arguments=0, uses_file=False
    ),
    "help": Command("help", "Help about any command", _help, arguments="[COMMAND]", uses_file=False),
    "license": Command(
        "license",
        "Outputs the licenses of dependencies to a directory",
        _license,
        flags=(Flag("dir", short="d", default=".", help="Directory to write the directory `licenses` to."),),
        max_arguments=0,
        details="Writes the licenses of everything that runs in a cluster and in minikube itself to a directory, one for each component, "
        "from the sources they were built from.",
        examples=("minikube license", "minikube license -d /tmp"),
    ),
    "update-check": Command(
        "update-check",
        "Print current and latest version number",
        _update_check,
        max_arguments=0,
        details="Prints the current version, and the latest one at the place this clone of minikube came from (its git origin).",
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
