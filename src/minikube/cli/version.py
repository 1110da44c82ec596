"""`minikube version`."""

from __future__ import annotations

from minikube import __version__
from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag


def _run(call: Call) -> None:
    settings = call.settings
    output = settings.get("output")
    if output not in ("", "json", "yaml"):
        raise Reason("MK_OUTPUT_USAGE", f'error: --output must be "yaml" or "json", not "{output}"', exit_code=14)
    components = _components(call) if settings.get("components") else {}
    facts = {"minikubeVersion": f"v{__version__}"}
    if not settings.get("short"):
        facts["commit"] = ""
    if output == "json":
        import json

        print(json.dumps(facts | components))
    elif output == "yaml":
        # Plain values and no nesting: every one of them is valid YAML as a quoted string.
        import json

        print("\n".join(f"{key}: {json.dumps(value)}" for key, value in (facts | components).items()))
    elif settings.get("short"):
        print(f"v{__version__}")
    else:
        print(f"minikube version: v{__version__}")
    if not output:
        for name, version in components.items():
            print(f"\n{name}:\n{version}")


def _components(call: Call) -> dict[str, str]:
    from minikube.cli import checks
    from minikube.cluster.components import versions

    return versions(checks.existing_profile(call))


COMMANDS = {
    "version": Command(
        "version",
        "Print the version of minikube",
        _run,
        flags=(
            Flag("short", "bool", help="Print just the version number."),
            Flag("components", "bool", help="Also ask the node for the versions of what runs in it."),
            Flag("output", short="o", help="json or yaml.", choices=("json", "yaml")),
        ),
        uses_file=False,
        examples=("minikube version --short", "minikube version --components -o json"),
    )
}
