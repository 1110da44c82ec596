"""Write the parts of docs/ that the code already says: commands, settings, exit codes, and what is not built yet.

    PYTHONPATH=src python tools/generate_docs.py

tests/docs/test_generated.py fails when a page no longer says what the code does.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from minikube.artifacts import gotoolchain
from minikube.cli.command import Command
from minikube.cli.commands import COMMANDS
from minikube.cli.configkeys import KEYS
from minikube.cli.flags import GLOBAL_FLAGS
from minikube.cli.unbuilt import every_command, unbuilt_commands
from minikube.drivers.native.checks import QUESTIONS
from minikube.output.kinds import KINDS
from minikube.output.knownproblems import KNOWN
from minikube.profiles.settings import Flag, environment_name
from minikube.profiles.values import format_duration

CLONE = Path(__file__).parent.parent
SOURCE = CLONE / "src/minikube"
NOTE = "<!-- Written by tools/generate_docs.py from the code: change the code, then run it again. -->\n"
ANOTHER_DRIVER = re.compile(r"\((?:kvm2|virtualbox|hyperkit|hyperv|docker, podman|qemu|vfkit|krunkit|ssh|virtual machines)\)\.$")
LONGEST_DEFAULT = 40

WHERE = {1: "minikube itself", 2: "resources", 3: "this machine", 4: "the internet", 5: "the driver", 6: "the driver's provider",
         7: "the local network", 8: "the node", 9: "the container runtime", 10: "the control plane", 11: "a service"}  # fmt: skip
RESOURCES = {23: "memory", 26: "storage", 29: "cores"}
HOW = ("error", "conflict", "timeout", "not running", "usage", "not found", "unsupported", "permission", "configuration", "unavailable")

# Names that the code reads from the environment; a name that is missing here stops this program.
ENVIRONMENT = {
    "MINIKUBE_HOME": "Where profiles, machines and logs are. `.minikube` is added unless the path ends so. Default: `~/.minikube`.",
    "MINIKUBE_STORE": "Where components are kept. Default: `$XDG_CACHE_HOME/minikube`, else `~/.cache/minikube`.",
    "XDG_CACHE_HOME": "Where the store is when `MINIKUBE_STORE` is not set.",
    "KUBECONFIG": "The kubeconfig files, as kubectl reads them. Default: `~/.kube/config`.",
    "MINIKUBE_IN_STYLE": "`true` or `false`: emoji and colour, whatever the terminal.",
    "LC_ALL": "The language of messages: German, Spanish and French are there. The first of these three that is set counts.",
    "LC_MESSAGES": "Likewise.",
    "LANG": "Likewise.",
    "DOCKER_HOST": "Where docker is asked for images when its program is not there; `unix://` addresses only.",
    "NO_COLOR": "If set, no colour.",
    "SOURCE_DATE_EPOCH": "The time that `sbom` writes into its document, in seconds since 1970: two runs give the same bytes.",
    "SHELL": "Your shell, for the scripts of `docker-env` and `podman-env`.",
    "MINIKUBE_ACTIVE_DOCKERD": "Set by `docker-env` for your shell; `status` says so.",
    "MINIKUBE_ACTIVE_PODMAN": "Set by `podman-env` for your shell; `status` says so.",
    "TERM": "Whether the terminal knows colours; also what kind of terminal `minikube ssh` tells the node about.",
    "COLORTERM": "Likewise, for terminals whose `TERM` does not say so.",
    "PATH": "Where Go, a compiler and apt-get are looked for.",
    "HOME": "Where `~` is.",
    "TMPDIR": "Where builds keep temporary files.",
    "HTTP_PROXY": "Proxy for downloads and for the node's container runtime (docs/how-to/mirrors-and-proxies.md).",
    "HTTPS_PROXY": "Likewise.",
    "ALL_PROXY": "Likewise.",
    "NO_PROXY": "Hosts to reach without a proxy; for the node, the cluster's own addresses are added.",
    "DOCKER_CONFIG": "Directory of the `config.json` that `docker login` writes: names and passwords of registries. Default: `~/.docker`.",
    "REGISTRY_AUTH_FILE": "The file that `podman login` writes, if it was told where: names and passwords of registries.",
    "XDG_RUNTIME_DIR": "Where `podman login` writes otherwise: `containers/auth.json` below it. Default: `/run/user/` and your number.",
    "SSL_CERT_FILE": "Certificates that Go trusts when it fetches modules.",
    "SSL_CERT_DIR": "Likewise, a directory of them.",
    "NETRC": "Where Go finds names and passwords of module proxies.",
    "GOPROXY": "Where Go modules come from.",
    "GOSUMDB": "Go's checksum database.",
    "GONOSUMDB": "Modules that are not looked up there.",
    "GONOSUMCHECK": "Likewise, the old name.",
    "GONOPROXY": "Modules that do not come from the proxy.",
    "GOPRIVATE": "Modules that are nobody's business: neither proxy nor checksum database.",
    "GOINSECURE": "Modules that may come over plain HTTP.",
    "GOAUTH": "How Go identifies itself to module proxies.",
    "CHANGE_MINIKUBE_NONE_USER": "`false`: with `sudo minikube start`, files stay root's and in root's home, instead of the caller's.",
    "SUDO_COMMAND": "Set by sudo: whether this very command was asked for (`sudo minikube …`), or a root shell.",
    "SUDO_UID": "Set by sudo: to whom files belong.",
    "SUDO_GID": "Likewise.",
    "SUDO_USER": "Likewise, the name: for the audit log.",
    "MINIKUBE_DIE_AT": "For fault tests: `step:before`, `step:after` or `step:milliseconds`, where the command is to end by SIGKILL.",
    "MINIKUBE_CALLED_AS": "Set by the launcher when it is called as `kubectl`.",
}  # fmt: skip


def pages() -> dict[Path, str]:
    """Every generated page with its content as it should be now."""
    docs = CLONE / "docs"
    compatibility = docs / "compatibility.md"
    return {
        docs / "reference/commands.md": commands_page(),
        docs / "reference/settings.md": settings_page(),
        docs / "reference/exit-codes.md": exit_codes_page(),
        compatibility: with_generated_parts(
            compatibility.read_text(encoding="utf-8"), {"commands": commands_not_built(), "flags": flags_without_effect()}
        ),
    }


def commands_page() -> str:
    parts = ["# Commands", NOTE]
    parts.append("`minikube help COMMAND` prints the same. Flags of every command are [at the end](#flags-of-every-command).\n")
    group = ""
    for path, command in every_command():
        words = path.split()
        if command.hidden or not COMMANDS[words[1]][0]:
            continue
        if len(words) == 2 and COMMANDS[words[1]][0] != group:
            group = COMMANDS[words[1]][0]
            parts.append(f"## {group}\n")
        parts += _command(path, command)
    parts.append("## Flags of every command\n")
    parts += [_flags(GLOBAL_FLAGS, without_effect(GLOBAL_FLAGS, "start"))]
    return "\n".join(parts)


def _command(path: str, command: Command) -> Iterator[str]:
    details = command.details if isinstance(command.details, str) else command.details()
    yield f"{'###' if path.count(' ') == 1 else '####'} {path}\n"
    yield f"{details or command.summary}\n"
    if command.unbuilt:
        yield f"**Not built yet**: {command.unbuilt}.\n"
    if command.run or command.unbuilt:
        yield f"Usage: `{f'{path} {command.arguments}'.strip()}`\n"
    if command.aliases:
        yield f"Also called: {', '.join(f'`{name}`' for name in command.aliases)}\n"
    if command.examples:
        yield "```text\n" + "\n".join(command.examples) + "\n```\n"
    flags = [flag for flag in (*command.flags, *command.persistent) if not flag.hidden]
    idle = set() if command.unbuilt else without_effect(flags, path.split()[1])
    for section in dict.fromkeys(flag.section for flag in flags):
        if section:
            yield f"**{section}**\n"
        yield _flags([flag for flag in flags if flag.section == section], idle)


def _flags(flags: Iterable[Flag], idle: set[str]) -> str:
    rows = ["| flag | default | what it does |", "|---|---|---|"]
    for flag in flags:
        note = " *No effect yet.*" if flag.name in idle and "Accepted for compatibility" not in flag.help else ""
        rows.append(f"| `{flag.label}` | {_default(flag)} | {_cell(flag.help)}{note} |")
    return "\n".join(rows) + "\n"


def _default(flag: Flag) -> str:
    if flag.kind == "duration":
        return f"`{format_duration(flag.default)}`" if flag.default else ""
    if flag.kind == "bool":
        return "`true`" if flag.default else ""
    text = ",".join(flag.default) if isinstance(flag.default, list) else str(flag.default).strip()
    if not text or (flag.kind == "int" and text == "0"):
        return ""
    return f"`{text}`" if len(text) <= LONGEST_DEFAULT else "a template of several lines"


def settings_page() -> str:
    parts = ["# Settings", NOTE]
    parts.append(
        "Every flag can be set in four ways. The first of these that says something counts:\n\n"
        "1. the flag on the command line: `--memory=4g`\n"
        "2. the environment: `MINIKUBE_` and the flag's name in capitals, `-` written `_`: `MINIKUBE_MEMORY=4g`\n"
        "3. `config/config.json` in the home, written by `minikube config set memory 4g`\n"
        "4. the default, in the table of [commands](commands.md)\n"
    )
    parts.append("## Keys of `minikube config set`\n")
    of_start = {flag.config_key: flag for flag in _start().flags}
    flags = of_start | {flag.config_key: flag for flag in GLOBAL_FLAGS}
    idle = without_effect(flags.values(), "start")
    read_from_file = set(_strings_in_calls(_sources(), function="read"))
    rows = ["| key | kind | in the environment | when it takes effect |", "|---|---|---|---|"]
    for name, key in KEYS.items():
        flag = flags.get(name)
        effective = name in read_from_file or (flag is not None and flag.name not in idle)
        when = ("in a new cluster" if name in of_start else "at once") if effective else "no effect yet"
        variable = f"`{environment_name(flag.name)}`" if flag else ""
        rows.append(f"| `{name}` | {key.kind} | {variable} | {when} |")
    parts.append("\n".join(rows) + "\n")
    parts.append("## Environment variables\n")
    parts.append(f"Besides the flags' own:\n\n| variable | what for |\n|---|---|\n{_environment_rows()}\n")
    return "\n".join(parts)


def _environment_rows() -> str:
    names = {name for name in _strings_in_calls(_sources(), function="environ") if name.isupper()}
    names |= {*gotoolchain._FROM_USER, *gotoolchain._PROXIES}
    if unknown := names - ENVIRONMENT.keys():
        raise SystemExit(f"tools/generate_docs.py: the code reads {', '.join(sorted(unknown))}: say in ENVIRONMENT what for")
    return "\n".join(f"| `{name}` | {_cell(text)} |" for name, text in ENVIRONMENT.items() if name in names)


def exit_codes_page() -> str:
    codes = {name: KINDS[name].exit_code if code is None else code for name, code in _raised_reasons()}
    parts = ["# Exit codes", NOTE]
    parts.append(
        "A command that cannot do its work says why (`X Exiting due to ID: …`), and what to do. The exit code says the same to scripts: "
        "its tens where the trouble is, its last digit of what kind. With `-o json` the error is an event with `name`, `exitcode`, "
        "`message` and `advice`.\n"
    )
    parts.append("## Ends that are not errors of this kind\n")
    parts.append(
        "| exit code | what it means |\n|---|---|\n"
        "| 0 | done |\n"
        "| 1 to 7 | `minikube status`: a sum of 1 (the node does not run), 2 (kubelet or API server does not run), "
        "4 (the kubeconfig does not lead there) |\n"
        "| 130 | `status --watch` and `logs --follow`: ended by Ctrl-C |\n"
        "| 141 | whoever read the output has gone |\n"
        "| any | `minikube doctor`: what `minikube start` would end with; 0 if it can work |\n"
        "| any | `minikube ssh` and `minikube kubectl` end with the exit code of what they ran |\n"
    )
    parts.append("## What commands end with today\n")
    advice = {problem.id: problem.advice for problem in KNOWN} | {name: kind.advice for name, kind in KINDS.items() if kind.advice}
    rows = ["| exit code | where, and what kind | ID | advice |", "|---|---|---|---|"]
    for name, code in sorted(codes.items(), key=lambda item: (item[1], item[0])):
        rows.append(f"| {code} | {_meaning(code)} | `{name}` | {_cell(advice.get(name, ''))} |")
    parts.append("\n".join(rows) + "\n")
    parts.append("## Kept for later\n")
    parts.append("IDs of upstream minikube that nothing here ends with yet. They keep their exit codes.\n")
    kept: dict[int, list[str]] = {}
    for name, kind in KINDS.items():
        if name not in codes:
            kept.setdefault(kind.exit_code, []).append(f"`{name}`")
    parts.append("| exit code | IDs |\n|---|---|\n" + "\n".join(f"| {code} | {', '.join(kept[code])} |" for code in sorted(kept)) + "\n")
    return "\n".join(parts)


def _meaning(code: int) -> str:
    if code == 1:
        return "a failure that upstream does not name"
    return f"{WHERE[code // 10]}: {RESOURCES.get(code, HOW[code % 10])}"


def with_generated_parts(text: str, parts: dict[str, str]) -> str:
    """The hand-written page with what stands between its markers replaced."""
    for name, content in parts.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise SystemExit(f"docs/compatibility.md has no markers for {name}")
        text = before + begin + content + end + rest.partition(end)[2]
    return text


def commands_not_built() -> str:
    reasons: dict[str, list[str]] = {}
    hidden = {path for path, command in every_command() if command.hidden}
    for path, why in unbuilt_commands():
        if path not in hidden:
            reasons.setdefault(why, []).append(f"`{path}`")
    rows = [f"| {', '.join(paths)} | {_cell(why)} |" for why, paths in reasons.items()]
    return "\n| command | why, or what to do meanwhile |\n|---|---|\n" + "\n".join(rows) + "\n\n"


def flags_without_effect() -> str:
    idle = without_effect(_start().flags, "start")
    shown = [flag for flag in _start().flags if flag.name in idle and not flag.hidden]
    others = [flag for flag in shown if ANOTHER_DRIVER.search(flag.help)]
    rows = [f"| `--{flag.name}` | {_cell(flag.help)} |" for flag in shown if flag not in others]
    return (
        "\n| flag | what it is for |\n|---|---|\n" + "\n".join(rows) + "\n\n"
        f"For drivers that do not exist here: {', '.join(f'`--{flag.name}`' for flag in others)}.\n\n"
    )


def _start() -> Command:
    return next(command for path, command in every_command() if path == "minikube start")


def without_effect(flags: Iterable[Flag], command: str) -> set[str]:
    """Names of flags that no code on the command's way ever asks for."""
    modules = {module for _, module, _ in COMMANDS.values()} - {COMMANDS[command][1]}
    shared = [path for path in _sources("cli") if path.stem not in modules]
    names = {flag.name for flag in flags}
    paths = (*shared, *_sources("cluster"), *_sources("drivers"), SOURCE / "profiles/settings.py")
    return names - set(_settings_read(paths, names)) - {"help"}


def _settings_read(paths: Iterable[Path], names: set[str]) -> Iterator[str]:
    """Names in `settings.get("name")` and its sisters; where it is a variable, all in the function and its constants count."""
    for path in paths:
        for function in (node for node in ast.walk(_tree(path)) if isinstance(node, ast.FunctionDef)):
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                if _called(call) in (("settings", "get"), ("settings", "changed"), ("self", "get")) and call.args:
                    places = [call.args[0]] if isinstance(call.args[0], ast.Constant) else [function, *_constants(function, path)]
                    yield from set().union(*map(_strings, places)) & names


def _constants(function: ast.FunctionDef, path: Path) -> list[ast.expr]:
    """The values of the module's constants that a function names."""
    named = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    assigned = [node for node in _tree(path).body if isinstance(node, ast.Assign)]
    return [node.value for node in assigned if _name(node.targets[0]) in named and _name(node.targets[0]).isupper()]


def _strings_in_calls(paths: Iterable[Path], *, function: str) -> Iterator[str]:
    """X in `function().get("X")`, `function.get("X")`, `function.pop("X")` and `function["X"]`."""
    for path in paths:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and _called(node) in ((function, "get"), (function, "pop")) and node.args:
                yield from _strings(node.args[0])
            elif isinstance(node, ast.Subscript) and _name(node.value) == function:
                yield from _strings(node.slice)


def _raised_reasons() -> Iterator[tuple[str, int | None]]:
    """IDs that stand as such in the code, with the exit code given beside them, if any."""
    for path in _sources():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and _name(node.func) in ("Reason", "NotReady"):
                given = [word.value for word in node.keywords if word.arg == "exit_code"]
                code = _number(given[0], path) if given else None
                yield from ((name, code) for name in sorted(_strings(node.args[0])) if code is not None or name in KINDS)
    yield from ((question.reason, None) for question in QUESTIONS if question.required)
    yield from ((problem.id, None) for problem in KNOWN)


def _number(node: ast.expr, path: Path) -> int | None:
    if isinstance(node, ast.Constant):
        return int(str(node.value))
    for statement in _tree(path).body:
        if isinstance(statement, ast.Assign) and _name(statement.targets[0]) == _name(node) and isinstance(statement.value, ast.Constant):
            return int(str(statement.value.value))
    return None


def _called(call: ast.Call) -> tuple[str, str]:
    """`("settings", "get")` for `call.settings.get(…)`."""
    return (_name(call.func.value), call.func.attr) if isinstance(call.func, ast.Attribute) else ("", "")


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _strings(node: ast.AST) -> set[str]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def _sources(room: str = "") -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> None:
    for path, content in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            print(f"written: {path.relative_to(CLONE)}")


if __name__ == "__main__":
    main()
