"""What the verbs talk to: steps, news, warnings and errors, for a person or for a program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minikube.output import console
from minikube.output.debuglog import debug
from minikube.output.events import RECORDED, event, step_data
from minikube.output.openline import OpenLine

if TYPE_CHECKING:
    from minikube.output.progress import Progress, Style, TaskEvent
    from minikube.output.reason import Reason


class Report:
    """The story of one command, told as text. Several threads may tell parts of it at once.

    `events_file` keeps the steps for `status --layout=cluster`. Its directory is never made here: a command that is refused
    must not leave half a profile behind, so events wait in memory until the directory exists.
    """

    def __init__(self, command: str, *, events_file: Path | None = None) -> None:
        import threading

        self.command = command
        self._events_file = events_file
        self._waiting: list[str] = []
        self._truncate = True
        self._step = step_data(command, "", "")
        self._progress: Progress | None = None
        self._line = OpenLine()
        self._lock = threading.Lock()

    @property
    def progress(self) -> Progress:
        """Live progress of long work (builds, downloads), made when first asked for."""
        if self._progress is None:
            self._progress = self._make_progress()
        return self._progress

    def step(self, name: str, message: str, *, style: str = "") -> None:
        """A named step begins; the names and their numbers are in events.STEPS."""
        self._step = step_data(self.command, name, message)
        self._tell("step", self._step, message, style, lasts=name != "Done")

    def info(self, message: str, *, style: str = "") -> None:
        self._tell("info", {"message": message}, message, style)

    def warning(self, message: str) -> None:
        self._tell("warning", {"message": message}, message, "warning")

    def error(self, reason: Reason) -> None:
        """The end of a command that could not do its work."""
        debug(f"error: {reason.id}: {reason.message}")
        line = event(
            "error",
            {
                "advice": reason.advice,
                "exitcode": str(reason.exit_code),
                "issues": ",".join(reason.issues),
                "message": reason.message,
                "name": reason.id,
                "url": reason.url,
            },
        )
        self._record(line)
        self._show_error(line, reason)

    def _tell(self, kind: str, data: dict[str, str], message: str, style: str, *, lasts: bool = False) -> None:
        debug(f"{kind}: {message}")
        line = event(kind, data)
        if kind in RECORDED:
            self._record(line)
        self._show(line, message, style, lasts=lasts)

    def _show(self, line: str, message: str, style: str, *, lasts: bool) -> None:
        """`lasts`: work begins with it, and a terminal shows at the end of the line how long that took."""
        if style == "warning":
            self._line.end()
            console.err(message, style)
        elif self._progress is not None and (self._progress.busy or not lasts):
            # Lines that are being redrawn must not be cut in two. No lock of ours is held: progress has its own.
            self._progress.put(console.styled(sys.stdout, message, style))
        elif lasts and console.is_terminal(sys.stdout):
            self._line.begin(console.styled(sys.stdout, message, style))
        else:
            self._line.end()
            console.out(message, style)

    def _show_error(self, line: str, reason: Reason) -> None:
        from minikube.output.notready import NotReady

        self._line.end()
        if isinstance(reason, NotReady):
            console.out(reason.message, "shrug")
            console.out(reason.advice, "workaround")
            return
        print(file=sys.stderr)
        console.err(f"Exiting due to {reason.id}: {reason.message}", "failure")
        if reason.advice:
            console.err(f"Suggestion: {reason.advice}", "tip")
        if reason.url:
            console.err(f"Documentation: {reason.url}", "documentation")
        if reason.issues:
            console.err(f"Related issues: {', '.join(reason.issues)}", "issues")
        print(file=sys.stderr, flush=True)

    def _make_progress(self) -> Progress:
        from minikube.output.progress import Progress

        style: Style = "terminal" if console.is_terminal(sys.stdout) else "plain"
        return Progress(sys.stdout, style=style, observe=self._observe, before_writing=self._line.end)

    def _observe(self, task: TaskEvent) -> None:
        data = {"artifact": task.label, "currentstep": self._step["currentstep"], "totalsteps": self._step["totalsteps"]}
        if task.kind == "download.progress":
            data["progress"] = f"{min(task.done / task.total, 1.0):.4f}" if task.total else "0"
        line = event(task.kind, data)
        if task.kind in RECORDED:
            self._record(line)
        self._show_progress(line)

    def _show_progress(self, line: str) -> None:
        """A person sees the progress itself."""

    def _record(self, line: str) -> None:
        # Before the first step nothing has begun: a refused command must not hide what the last one left.
        if self._events_file is None or not self._step["name"]:
            return
        with self._lock:
            self._waiting.append(line + "\n")
            if not self._events_file.parent.is_dir():
                return
            try:
                with self._events_file.open("w" if self._truncate else "a", encoding="utf-8") as stream:
                    stream.writelines(self._waiting)
            except OSError as error:
                debug(f"event not kept in {self._events_file}: {error}")
            self._truncate = False
            self._waiting.clear()


class JsonReport(Report):
    """The same story as CloudEvents on stdout, one per line; stderr stays empty."""

    def _show(self, line: str, message: str, style: str, *, lasts: bool) -> None:
        self._show_progress(line)

    def _show_error(self, line: str, reason: Reason) -> None:
        self._show_progress(line)

    def _show_progress(self, line: str) -> None:
        with self._lock:
            print(line, flush=True)

    def _make_progress(self) -> Progress:
        from minikube.output.progress import Progress

        return Progress(None, observe=self._observe, on_say=self.info)


def make_report(command: str, *, json: bool = False, events_file: Path | None = None) -> Report:
    return (JsonReport if json else Report)(command, events_file=events_file)
