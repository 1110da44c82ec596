"""`minikube completion`: scripts for shells, and the answers those scripts ask for."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag

_SHELLS = ("bash", "zsh", "fish", "powershell")


def _script(call: Call) -> None:
    shell = call.settings.arguments[0]
    if shell not in _SHELLS:
        raise Reason(
            "MK_USAGE", f"Sorry, completion support is not yet implemented for {shell!r}", advice=f"Choose one of: {', '.join(_SHELLS)}"
        )
    from minikube.cli.completionscripts import SCRIPTS

    print(SCRIPTS[shell], end="")


def _complete(call: Call) -> None:
    from minikube.cli.completer import candidates

    # Older PowerShells lose an empty word unless it is quoted, newer ones hand the quotes over.
    for word in candidates(["" if word == '""' else word for word in call.settings.arguments]):
        print(word)


COMMANDS = {
    "completion": Command(
        "completion",
        "Generate command completion for a shell",
        _script,
        flags=(Flag("no-descriptions", "bool", help="Accepted for compatibility: completions are names only.", hidden=True),),
        arguments="bash|zsh|fish|powershell",
        min_arguments=1,
        max_arguments=1,
        uses_file=False,
        examples=(
            "bash:        source <(minikube completion bash)",
            "zsh:         source <(minikube completion zsh)",
            "fish:        minikube completion fish | source",
            "powershell:  minikube completion powershell | Out-String | Invoke-Expression",
        ),
    ),
    "__complete": Command("__complete", "What a shell asks for completions", _complete, keeps_empty=True, hidden=True, uses_file=False),
}
