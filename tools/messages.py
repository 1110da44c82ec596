"""The messages that are translated, and their catalogues in src/minikube/output/locale.

    PYTHONPATH=src python tools/messages.py    brings the .po files in line with the code and compiles them

A message that was added to the code appears in every .po file with an empty translation, one that is gone disappears.
tests/output/test_translations.py fails while anything is missing. Translated is what people see on every day: steps, news, warnings, what
is told on the console, answers about a cluster that is not ready, the advice that belongs to a kind of error or to a known problem, all
that `doctor` asks and answers, and what everyday commands and starts are refused with (REFUSALS). An expression whose words cannot be
found ends this tool: nothing is left out in silence.
"""

import ast
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from minikube.drivers.native.checks import QUESTIONS
from minikube.drivers.native.checks.isolation import MEANING
from minikube.drivers.native.checks.kernel import ROOT_RIGHTS, WITHOUT
from minikube.output.kinds import KINDS
from minikube.output.knownproblems import KNOWN
from minikube.output.translations import LANGUAGES, LOCALE, fields

SOURCE = Path(__file__).parent.parent / "src/minikube"
# Expressions that are told but hold no words of their own.
WITHOUT_WORDS = frozenset(
    {
        "steps.table(graph)",
        *("reason.advice", "refusal.advice", "refused.advice", "trouble.advice"),
        *("reason.message", "refusal.message", "refused.message", "trouble.message"),
        *("ground.kernel", "mount.kind", "str(have)", "str(ground.home)", "', '.join((*NAMESPACES, 'user'))", "'; '.join(limits)"),
        "str(error)",
        "fixes",
        "status.fix",
        "warning",
    }
    | {"console.styled(sys.stdout, message, style)", "why.partition('\\n')[0]"}
)
# Functions that are handed on to tell something with: report.info and report.warning by another name.
HANDED_ON = ("warn", "on_wait")
# Answers of `doctor`: what is so, and what mends it.
FINDINGS = ("fine", "doubtful", "lacking")
# Where every reason is translated, message and advice.
REFUSALS = frozenset(
    {f"cli/{name}.py" for name in ("checks", "command", "delete", "pause", "profile", "status", "stop")}
    | {f"cluster/{name}.py" for name in ("driverchoice", "existing", "mirrors", "plan", "sizes")}
    | {f"artifacts/{name}.py" for name in ("buildtools", "catalogue", "provide", "unpinned")}
    | {f"profiles/{name}.py" for name in ("locks", "profile", "userconfig")}
    | {
        "drivers/native/definition.py",
        "drivers/registry.py",
        "drivers/selection.py",
        "host/files.py",
        "host/rootrights.py",
        "kubernetes/extraconfig.py",
        "kubernetes/hardening.py",
        "kubernetes/health.py",
    }
)
# Words that are filled into messages.
FILLED_IN = (
    *("Paused", "Unpaused", "no limit", "no limit on", "natively on this host"),
    "Kubernetes in namespaces of this host, without a VM or a container engine",
    "{0} things stand in the way:\n{1}",
    # what `doctor` says besides its answers
    *("state: ok", "state: warning", "state: missing", "not here", "works here", "works here ({0})", "Drivers", "Container runtimes"),
    *(MEANING, ROOT_RIGHTS, "it is on"),
    *(f"without CAP_{name} {meaning}" for name, meaning in WITHOUT.items()),
    # what a driver warns of
    "A privileged pod can take over this machine: the node has no user namespace of its own ({0}). See docs/security.md.",
)
HEADER = "Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\nLanguage: {}\n"


def messages() -> dict[str, str]:
    """Every message as a template ({0}, {1} … stand for what is filled in), and the file it is in."""
    found = dict.fromkeys(FILLED_IN, "filled in")
    for kind in KINDS.values():
        if kind.advice:
            found.setdefault(kind.advice, "output/kinds.py")
    for problem in KNOWN:
        found.setdefault(problem.advice, "output/knownproblems.py")
    for question in QUESTIONS:
        found.setdefault(question.group, "drivers/native/checks/__init__.py")
        found.setdefault(question.title, "drivers/native/checks/__init__.py")
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for function, call in _calls(tree):
            for argument in _told(call, refusals=str(file.relative_to(SOURCE)) in REFUSALS):
                for template in _templates(argument, function, tree, file):
                    if _has_words(template):
                        found.setdefault(template, str(file.relative_to(SOURCE)))
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Call]]:
    """Each call with the function around it."""

    def walk(node: ast.AST, function: ast.AST) -> Iterator[tuple[ast.AST, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                yield function, child
            yield from walk(child, child if isinstance(child, ast.FunctionDef) else function)

    return walk(tree, tree)


def _told(call: ast.Call, *, refusals: bool) -> Iterator[ast.expr]:
    """The arguments of a call that people get to see."""
    name = ast.unparse(call.func)
    owner, _, verb = name.rpartition(".")
    if owner.endswith("report") and verb == "step":
        yield call.args[1]
    elif (
        (owner.endswith("report") and verb in ("info", "warning"))
        or (owner == "console" and verb in ("out", "err"))
        or (owner.endswith("progress") and verb == "say")
        or name in HANDED_ON
    ):
        yield call.args[0]
    elif name in FINDINGS:
        yield from call.args
    elif verb == "NotReady" or (refusals and verb == "Reason"):
        yield call.args[1]
        yield from (keyword.value for keyword in call.keywords if keyword.arg == "advice")


def _templates(node: ast.expr, function: ast.AST, tree: ast.Module, file: Path) -> Iterator[str]:
    """What an expression can say: texts are taken as they are, names and calls are followed within their module."""
    if ast.unparse(node) in WITHOUT_WORDS:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
        numbers = iter(range(len(parts)))
        yield "".join(f"{{{next(numbers)}}}" if part is None else str(part) for part in parts)
    elif isinstance(node, ast.IfExp):
        yield from _templates(node.body, function, tree, file)
        yield from _templates(node.orelse, function, tree, file)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("strip", "rstrip"):
        yield from _templates(node.func.value, function, tree, file)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "several":
        for value in node.args:
            yield from _templates(value, function, tree, file)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _templates(value, function, tree, file)
    elif isinstance(node, ast.Name) and (values := _assigned(node.id, function) or _assigned(node.id, tree)):
        for value in values:
            yield from _templates(value, function, tree, file)
            for more in _added(node.id, function):
                yield from _templates(ast.BinOp(value, ast.Add(), more), function, tree, file)
    elif isinstance(node, ast.Call) and (bodies := _defined(ast.unparse(node.func).rpartition(".")[2], tree)):
        for body in bodies:
            for statement in ast.walk(body):
                if isinstance(statement, ast.Return) and statement.value is not None:
                    yield from _templates(statement.value, body, tree, file)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for before in _templates(node.left, function, tree, file):
            for after in _templates(node.right, function, tree, file):
                first = len(fields(before))
                for number in reversed(fields(after)):
                    after = after.replace(f"{{{number}}}", f"{{{number + first}}}")
                yield before + after
    elif isinstance(node, ast.Name) and _is_parameter(node, function):
        yield from _handed_over(node.id, function, tree, file)
    else:
        raise SystemExit(
            f"{file}:{node.lineno}: cannot tell what `{ast.unparse(node)}` says; write the text there, or name it in {__file__}"
        )


def _assigned(name: str, function: ast.AST) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def _defined(name: str, tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]


def _added(name: str, function: ast.AST) -> list[ast.expr]:
    """What `name += …` puts behind it."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name
    ]


def _is_parameter(node: ast.Name, function: ast.AST) -> bool:
    return isinstance(function, ast.FunctionDef) and node.id in _parameters(function)


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _handed_over(name: str, function: ast.AST, tree: ast.Module, file: Path) -> Iterator[str]:
    """The texts that callers in the same module tell through a function's parameter."""
    assert isinstance(function, ast.FunctionDef)
    place = [parameter for parameter in _parameters(function) if parameter not in ("self", "cls")].index(name)
    for around, call in _calls(tree):
        if ast.unparse(call.func).rpartition(".")[2] == function.name:
            given = [keyword.value for keyword in call.keywords if keyword.arg == name] or call.args[place : place + 1]
            for argument in given:
                yield from _templates(argument, around, tree, file)


def _has_words(template: str) -> bool:
    for number in range(20):
        template = template.replace(f"{{{number}}}", " ")
    return any(len(word.strip("-$.:()[]!`'\"")) >= 3 and word.strip("-$.:()[]!`'\"").isalpha() for word in template.split())


def read_po(file: Path) -> dict[str, str]:
    """Message to translation; missing ones are empty."""
    found: dict[str, str] = {}
    key = ""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        word, _, rest = line.partition(" ")
        if word == "msgid":
            key = ast.literal_eval(rest)
        elif word == "msgstr":
            found[key] = ast.literal_eval(rest)
    found.pop("", None)
    return found


def po_text(language: str, wanted: dict[str, str], translated: dict[str, str]) -> str:
    parts = [f'msgid ""\nmsgstr {_quoted(HEADER.format(language))}\n']
    for message, place in sorted(wanted.items(), key=lambda entry: (entry[1], entry[0])):
        parts.append(f"#: {place}\nmsgid {_quoted(message)}\nmsgstr {_quoted(translated.get(message, ''))}\n")
    return "\n".join(parts)


def mo_bytes(language: str, translated: dict[str, str]) -> bytes:
    """The catalogue as gettext reads it: two tables of lengths and places, then the texts."""
    entries = sorted((key.encode(), value.encode()) for key, value in {"": HEADER.format(language), **translated}.items() if value)
    count = len(entries)
    place = 28 + count * 16
    tables, texts = [b"", b""], b""
    for side in (0, 1):
        for entry in entries:
            tables[side] += struct.pack("<II", len(entry[side]), place + len(texts))
            texts += entry[side] + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + count * 8, 0, 0) + tables[0] + tables[1] + texts


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def wrong(translated: dict[str, str], wanted: dict[str, str]) -> list[str]:
    """What is missing, or fills in something that the message does not have."""
    found = [f"{place}: {message!r} is not translated" for message, place in wanted.items() if not translated.get(message)]
    found += [f"{message!r} is translated but not told any more" for message in translated if message not in wanted]
    found += [
        f"{message!r}: {text!r} fills in what is not there"
        for message, text in translated.items()
        if text and not set(fields(text)) <= set(fields(message))
    ]
    return found


def main() -> None:
    wanted = messages()
    for language in LANGUAGES:
        directory = LOCALE / language / "LC_MESSAGES"
        directory.mkdir(parents=True, exist_ok=True)
        translated = {key: value for key, value in read_po(directory / "minikube.po").items() if key in wanted}
        (directory / "minikube.po").write_text(po_text(language, wanted, translated), encoding="utf-8")
        (directory / "minikube.mo").write_bytes(mo_bytes(language, translated))
        for problem in wrong(translated, wanted):
            print(f"{language}: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
