"""Progress: readable in a log, redrawn on a terminal, events for programs, and never in the way of the work."""

import re
import threading
from io import StringIO

import pytest

from minikube.output import progress as module
from minikube.output.progress import Progress, TaskEvent, duration, silent


def test_plain_lines_at_the_start_and_at_the_end() -> None:
    out = StringIO()
    with Progress(out).task("compiling", 3, "packages") as task:
        task.advance()
        task.advance(2)
    assert re.fullmatch(r"compiling …\ncompiling: \S+\n", out.getvalue())


def test_a_failed_task_says_so() -> None:
    out = StringIO()
    with pytest.raises(KeyError), Progress(out).task("compiling"):
        raise KeyError
    assert "compiling: stopped after" in out.getvalue()


def test_plain_lines_now_and_then_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PLAIN_SECONDS", 0.0)
    written = threading.Event()

    class Out(StringIO):
        def write(self, text: str) -> int:
            if "1/4 packages" in text:
                written.set()
            return super().write(text)

    with Progress(Out()).task("compiling", 4, "packages") as task:
        task.set(1)
        assert written.wait(10)


def test_a_terminal_shows_a_line_per_task_and_keeps_what_was_said() -> None:
    out = StringIO()
    progress = Progress(out, style="terminal")
    first, second = progress.task("first", 2, "MB"), progress.task("second")
    progress.say("something that stays")
    second.done()
    first.done()
    screen = _screen(out.getvalue())
    assert screen[0] == "something that stays"
    assert [line.partition(":")[0] for line in screen[1:]] == ["second", "first"]


def test_a_terminal_is_not_redrawn_for_every_step() -> None:
    out = StringIO()
    with Progress(out, style="terminal").task("many", 100_000, "packages") as task:
        for _ in range(100_000):
            task.advance()
    assert out.getvalue().count("many") < 2000


def test_silent_writes_nothing_and_counts_all_the_same() -> None:
    task = silent().task("x", 2)
    task.advance()
    assert task.numbers().startswith("1/2")
    task.done()


def test_events_for_programs() -> None:
    events: list[TaskEvent] = []
    with Progress(None, observe=events.append).task("image", 10, "MB") as task:
        task.set(10)
    assert events[0] == ("download", "image", 0, 10, "MB")
    assert events[-1] == ("download.progress", "image", 10, 10, "MB")


def test_threads_may_all_report() -> None:
    out = StringIO()
    progress = Progress(out, style="terminal")
    tasks = [progress.task(f"task {number}", 500) for number in range(8)]

    def work(task: module.Task) -> None:
        with task:
            for _ in range(500):
                task.advance()

    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(line.partition(":")[0] for line in _screen(out.getvalue())) == [f"task {number}" for number in range(8)]


def test_a_reader_that_went_away_does_not_stop_the_work() -> None:
    out = StringIO()
    progress = Progress(out)
    out.close()
    with progress.task("x", 2) as task:
        task.advance()


def test_time_left_leans_on_the_expectation_first_and_on_the_rate_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    task = silent().task("x", 100, "packages", expected_seconds=400)
    now[0] += 10
    assert task.seconds_left() == 390
    task.set(1)
    assert 380 < (task.seconds_left() or 0) < 400
    now[0] += 90
    task.set(99)
    assert (task.seconds_left() or 0) < 10


@pytest.mark.parametrize(("seconds", "text"), [(0.42, "0.4s"), (8.4, "8s"), (59.7, "1m 00s"), (125, "2m 05s"), (3780, "1h 03m")])
def test_durations_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def _screen(written: str) -> list[str]:
    """What a terminal shows in the end."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[\d*[AJK]|\n|[^\x1b\n]+", written):
        if part == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif part.endswith("A") and part.startswith("\x1b"):
            row -= int(part[2:-1])
        elif part == "\x1b[J":
            lines[row:] = [""]
        elif part == "\x1b[2K":
            lines[row] = ""
        else:
            lines[row] = part
    return [line for line in lines if line]
