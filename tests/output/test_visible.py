"""Control characters of strangers never reach a terminal as such."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout

import pytest

from minikube.output import console
from minikube.output.progress import Progress
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.output.visible import Guarded, guard_streams, visible

HOSTILE = {
    "clear screen": "\x1b[2J\x1b[H",
    "window title": "\x1b]0;owned\x07",
    "answerback": "\x1b[c\x1b[6n",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4K\x07",
    "C1 introducer": "\x9b2J",
    "C1 operating system command": "\x9d0;owned\x9c",
    "overwrites the line": "secret\rharmless",
    "backspaces": "no\x08\x08yes",
    "device control": "\x1bP+q544e\x1b\\",
    "bidirectional override": "access\u202etxt.exe\u2066",
    "delete": "\x7f",
    "null": "a\0b",
}


def controls(text: str) -> list[str]:
    return [
        sign
        for sign in text
        if (sign < " " and sign not in "\n\t")
        or "\x7f" <= sign <= "\x9f"
        or sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    ]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_control_characters_are_shown(text: str) -> None:
    assert controls(text)
    assert not controls(visible(text))


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("plain\tcolumns\nand lines\n", "Grüße, 世界, 😄 שלום", ""):
        assert visible(text) == text
    assert visible("windows\r\nlines\r\n") == "windows\nlines\n"


def test_bytes_that_are_no_utf_8_hide_nothing() -> None:
    for raw in (b"\xc2\x1b[2J", b"\xe2\x80\x1b]0;x\x07", b"\x9b2J", b"\xff\x9b2J"):
        for errors in ("replace", "surrogateescape", "backslashreplace"):
            shown = visible(raw.decode(errors=errors))
            assert not controls(shown)
            shown.encode()  # nothing is left that a stream could turn into the byte again


def test_json_and_yaml_stay_what_they_are() -> None:
    value = {"name": "a\x9b2J\u202e\x7f\\\x9b"}
    shown = visible(json.dumps(value, ensure_ascii=False))
    assert not controls(shown)
    assert json.loads(shown) == value


def test_a_guarded_stream_shows_whatever_is_printed() -> None:
    stream = io.StringIO()
    with redirect_stdout(stream):
        guard_streams()
        guard_streams()
        print("\x1b[2Jrows")
        sys.stdout.writelines(["\x9b1m\n"])
    assert stream.getvalue() == "\\u001b[2Jrows\n\\u009b1m\n"


def test_messages_reasons_and_progress_quote_strangers_safely(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_IN_STYLE", "true")
    report = Report("start")
    report.info("\x1b[2Jinfo")
    report.warning("\x1b]0;x\x07warning")
    report.error(Reason("GUEST_STATUS", "the node said \x1b[2J", advice="\x9b2J"))
    out, err = capsys.readouterr()
    assert not controls(out)
    assert set(controls(err)) == {"\x1b"}
    assert err.replace("\033[33m", "").replace("\033[31m", "").replace("\033[0m", "").find("\x1b") == -1  # our own colours only


@pytest.mark.parametrize("style", ["plain", "terminal"])
def test_progress_draws_labels_and_remarks_on_one_line(style: str) -> None:
    stream = io.StringIO()
    progress = Progress(Guarded(stream), style=style)  # type: ignore[arg-type]
    with progress.task("pulls \x1b]0;owned\x07\nfake: done") as task:
        task.note("\x1b[9Aup")
        task._progress._draw()
    progress.say("said \x1b[2J")
    shown = stream.getvalue()
    assert "\x1b]" not in shown
    assert "\x1b[9A" not in shown
    assert "\x1b[2J" not in shown
    assert "\nfake" not in shown


def test_colours_of_our_own_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_IN_STYLE", "true")
    stream = io.StringIO()
    with redirect_stdout(stream):
        guard_streams()
        console.out("red", "failure")
    assert stream.getvalue() == "❌  \033[31mred\033[0m\n"


def test_what_another_process_writes_to_our_descriptors_is_shown() -> None:
    program = """
import os, subprocess
from minikube.output.visible import GuardedDescriptors
with GuardedDescriptors():
    subprocess.run(["printf", "a\\\\033[2J\\\\302"])
    os.write(1, b"\\xa9 \\x9b2J\\n")
    os.write(2, b"\\x1b]0;x\\x07")
os.write(1, b"after\\x1b\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": "src"}, capture_output=True, check=True)
    assert done.stdout == "a\\u001b[2J© \\x9b2J\nafter\x1b\n".encode()
    assert done.stderr == b"\\u001b]0;x\\u0007"
