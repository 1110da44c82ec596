"""Work that takes long: what is being done, how far it is, and about how long it will still take."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, TextIO

from minikube.output import console
from minikube.output.visible import unguarded, visible

Style = Literal["terminal", "plain", "silent"]

_REDRAW_SECONDS = 0.1
_PLAIN_SECONDS = 15.0
_BAR_WIDTH = 20


class TaskEvent(NamedTuple):
    """What `observe` is told: `download` when a task begins, `download.progress` as it moves on and once more at its end."""

    kind: Literal["download", "download.progress"]
    label: str
    done: float
    total: float | None
    unit: str


class Task:
    """One piece of work. Also a context manager: leaving it ends the task, by an exception as a failure."""

    def __init__(self, progress: Progress, label: str, total: float | None, unit: str, expected_seconds: float | None) -> None:
        self.label, self.total, self.unit, self.expected_seconds = label, total, unit, expected_seconds
        self.done_so_far: float = 0
        self.remark = ""
        self.began = self.phase_began = time.monotonic()
        self.last_line = self.began
        self._progress = progress

    def advance(self, n: float = 1) -> None:
        self.set(self.done_so_far + n)

    def set(self, done: float, total: float | None = None) -> None:
        self.done_so_far = done
        if total is not None:
            self.total = total
        self._progress.moved(self)

    def phase(self, total: float | None, unit: str, *, expected_seconds: float | None = None) -> None:
        """The same task goes on with something else to count."""
        self.unit, self.total, self.expected_seconds, self.remark = unit, total, expected_seconds, ""
        self.phase_began = time.monotonic()
        self.set(0)

    def note(self, text: str) -> None:
        """Say beside the numbers what is going on just now (`linking`)."""
        self.remark = text
        self._progress.moved(self)

    def done(self) -> None:
        self._progress.ended(self, failed=False)

    def failed(self) -> None:
        self._progress.ended(self, failed=True)

    def seconds_left(self) -> float | None:
        """From the rate so far, leaning on the expectation while there is little rate to speak of."""
        elapsed = time.monotonic() - self.phase_began
        share = min(self.done_so_far / self.total, 1.0) if self.total else 0.0
        if share <= 0:
            return max(self.expected_seconds - elapsed, 0) or None if self.expected_seconds else None
        by_rate = elapsed / share
        whole = by_rate if self.expected_seconds is None else share * by_rate + (1 - share) * max(self.expected_seconds, elapsed)
        return max(whole - elapsed, 0)

    def numbers(self) -> str:
        """`312/2300 packages, about 4m 10s left, linking`, as far as known."""
        parts = []
        if self.total:
            parts.append(f"{amount(self.done_so_far, self.unit)}/{amount(self.total, self.unit)} {self.unit}".rstrip())
        elif self.done_so_far:
            parts.append(f"{amount(self.done_so_far, self.unit)} {self.unit}".rstrip())
        left = self.seconds_left()
        if left is not None and left >= 1:
            parts.append(f"about {duration(left)} left")
        if self.remark:
            parts.append(self.remark)
        return ", ".join(parts)

    def __enter__(self) -> Task:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.ended(self, failed=kind is not None)


class Progress:
    """Shows tasks of any thread: redrawn lines on a terminal, now and then a plain line elsewhere, or nothing."""

    def __init__(
        self,
        stream: TextIO | None,
        *,
        style: Style = "plain",
        observe: Callable[[TaskEvent], None] | None = None,
        before_writing: Callable[[], None] | None = None,
        on_say: Callable[[str], None] | None = None,
    ) -> None:
        """`on_say` gets the lines that stay, where nobody sees the stream."""
        self._stream = stream and unguarded(stream)
        self._before_writing = before_writing
        self._style: Style = "silent" if stream is None else style
        self._observe = observe
        self._on_say = on_say
        self._lock = threading.RLock()
        self._tasks: list[Task] = []
        self._drawn = 0
        self._last_draw = 0.0
        self._observed: dict[int, float] = {}
        self._ticker: threading.Thread | None = None
        self._idle = threading.Event()

    @property
    def busy(self) -> bool:
        """Whether there are tasks, and so lines that may be redrawn."""
        return bool(self._tasks)

    def say(self, text: str) -> None:
        """A line that stays, above whatever is being redrawn, in the user's language."""
        if self._on_say:
            self._on_say(text)
        self.put(visible(console.localized(text)))

    def put(self, text: str) -> None:
        """The same for a line that is as the stream should show it."""
        with self._lock:
            self._erase()
            self._write(text + "\n")
            self._draw()

    def task(self, label: str, total: float | None = None, unit: str = "", *, expected_seconds: float | None = None) -> Task:
        task = Task(self, label, total, unit, expected_seconds)
        with self._lock:
            self._tasks.append(task)
            if self._style == "plain":
                self._write(f"{_one_line(label)} …\n")
            elif self._style == "terminal":
                self._draw()
            self._tell("download", task)
            self._tick()
        return task

    def moved(self, task: Task) -> None:
        """A task has new numbers: redraw, but not more often than an eye can follow."""
        with self._lock:
            now = time.monotonic()
            if now - self._observed.get(id(task), 0.0) >= 1 and task in self._tasks:
                self._tell("download.progress", task)
            if self._style == "terminal" and now - self._last_draw >= _REDRAW_SECONDS:
                self._draw()

    def ended(self, task: Task, *, failed: bool) -> None:
        with self._lock:
            if task not in self._tasks:
                return
            self._tasks.remove(task)
            self._tell("download.progress", task)
            self._observed.pop(id(task), None)
            took = duration(time.monotonic() - task.began)
            self._erase()
            self._write(f"{_one_line(task.label)}: {'stopped after ' if failed else ''}{took}\n")
            self._draw()
            if not self._tasks:
                self._idle.set()

    def _tick(self) -> None:
        # Time passes even when nothing is reported: the linker is silent for half a minute.
        if self._style == "silent" or (self._ticker and not self._idle.is_set()):
            return
        self._idle = idle = threading.Event()
        self._ticker = threading.Thread(target=self._tick_until, args=(idle,), name="progress", daemon=True)
        self._ticker.start()

    def _tick_until(self, idle: threading.Event) -> None:
        while not idle.wait(1.0):
            with self._lock:
                if self._style == "terminal":
                    self._draw()
                    continue
                now = time.monotonic()
                for task in self._tasks:
                    if now - task.last_line >= _PLAIN_SECONDS:
                        task.last_line = now
                        self._write(_one_line(f"{task.label}: {task.numbers() or duration(now - task.began)}") + "\n")

    def _tell(self, kind: Literal["download", "download.progress"], task: Task) -> None:
        if self._observe:
            self._observed[id(task)] = time.monotonic()
            self._observe(TaskEvent(kind, task.label, task.done_so_far, task.total, task.unit))

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def _draw(self) -> None:
        if self._style != "terminal":
            return
        self._last_draw = time.monotonic()
        width = self._width()
        lines = [_terminal_line(task)[: width - 1] for task in self._tasks]
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._write(up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._drawn = len(lines)

    def _width(self) -> int:
        try:
            assert self._stream is not None  # noqa: S101 - a silent Progress never draws
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        if self._style == "silent" or self._stream is None:
            return
        try:
            if self._before_writing:
                self._before_writing()
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The reader has gone (`minikube start | head`): the work itself goes on.
            self._style = "silent"


def silent() -> Progress:
    """For callers nobody watches."""
    return Progress(None)


def duration(seconds: float) -> str:
    """`8s`, `2m 05s`, `1h 03m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s" if seconds >= 1 else f"{seconds:.1f}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def amount(value: float, unit: str) -> str:
    return f"{value:.1f}" if unit in ("MB", "GB") else f"{value:.0f}"


def _terminal_line(task: Task) -> str:
    if task.total:
        filled = round(_BAR_WIDTH * min(task.done_so_far / task.total, 1.0))
        bar = "█" * filled + "░" * (_BAR_WIDTH - filled)
    else:
        bar = f"{duration(time.monotonic() - task.began):>{_BAR_WIDTH}}"
    return _one_line(f"  {task.label:<34} {bar} {task.numbers()}")


def _one_line(text: str) -> str:
    """Labels and remarks may quote programs: what is not one line would break the redrawing."""
    return visible(text).replace("\n", " ").replace("\t", " ")
