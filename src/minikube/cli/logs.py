"""`minikube logs`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from minikube.cli import checks
from minikube.cli.audit import audit_file
from minikube.cli.command import Call, Command
from minikube.cli.logfiles import last_start
from minikube.output.reason import Reason
from minikube.output.visible import visible
from minikube.profiles.settings import Flag

_INTERRUPTED = 130  # 128 + SIGINT: the usual end of --follow


def _run(call: Call) -> int:
    settings = call.settings
    if settings.get("length") < 0:
        raise Reason("MK_USAGE", "--length must be 0 or more")
    if settings.get("follow"):
        return _follow(call)
    if settings.get("file"):
        _into_file(call, Path(settings.get("file")))
        return 0
    for line in _lines(call):
        sys.stdout.write(line + "\n")
    return 0


def _lines(call: Call) -> Iterator[str]:
    settings = call.settings
    length = settings.get("length")
    if settings.get("audit"):
        yield from _audit(length)
        return
    if settings.get("last-start-only"):
        yield from _section("Last Start", last_start(), None)
        return
    profile = checks.existing_profile(call)
    from minikube.cluster.logs import collect

    if not settings.get("problems"):
        yield from _audit(length)
        yield from _section("Last Start", last_start(), length)
    yield from collect(profile, length=length, node=settings.get("node"), problems=settings.get("problems"))


def _audit(length: int) -> Iterator[str]:
    """The last commands as a table; a row that is not what we write is shown as it is."""
    from minikube.cli.audittable import as_lines

    title, *rows, end = _section("Audit", Path(audit_file()), length)
    yield title
    yield from as_lines(rows)
    yield end


def _section(title: str, file: Path, length: int | None) -> Iterator[str]:
    yield f"==> {title} <=="
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    except OSError as error:
        lines = [f"{file} cannot be read: {error.strerror}"]
    yield from lines if length is None else lines[len(lines) - min(length, len(lines)) :]
    yield ""


def _follow(call: Call) -> int:
    profile = checks.existing_profile(call)
    from minikube.cluster.logs import follow

    try:
        return follow(profile, length=call.settings.get("length"), node=call.settings.get("node"))
    except KeyboardInterrupt:
        return _INTERRUPTED


def _into_file(call: Call, file: Path) -> None:
    try:
        with file.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            # Files are read on terminals, too: the same text as on stdout, without control characters.
            stream.writelines(visible(line) + "\n" for line in _lines(call))
    except OSError as error:
        raise Reason("HOST_PATH_STAT", f"{file} cannot be written: {error.strerror}") from None
    call.report.info(f"Logs were written to {file}", style="documentation")


COMMANDS = {
    "logs": Command(
        "logs",
        "Returns logs to debug a local Kubernetes cluster",
        _run,
        flags=(
            Flag("length", "int", 60, "Lines of each log.", short="n"),
            Flag("follow", "bool", help="Go on showing what is added.", short="f"),
            Flag("problems", "bool", help="Only lines that point to problems."),
            Flag("file", help="Write to this file instead of the terminal."),
            Flag("node", help="The node. Defaults to the first control plane."),
            Flag("audit", "bool", help="Only the audit log: which commands were run."),
            Flag("last-start-only", "bool", help="Only the log of the last start."),
        ),
        examples=("minikube logs", "minikube logs --file=logs.txt", "minikube logs --problems"),
    )
}
