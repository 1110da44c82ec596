"""Commands in a node: exit codes, input, output, signals, time."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from minikube.drivers.base import Node
from minikube.testing.subject import Box, eventually

MEGABYTE = 1 << 20


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_the_commands(node: Node, code: int) -> None:
    assert node.run(["sh", "-c", f"exit {code}"]).code == code


def test_output_and_errors_come_apart(node: Node) -> None:
    assert node.run(["sh", "-c", "echo out; echo err >&2"]) == (0, b"out\n", b"err\n")


def test_a_command_that_is_not_there(node: Node) -> None:
    result = node.run(["no-such-command"])
    assert result.code == 127
    assert b"no-such-command" in result.stderr


def test_words_arrive_as_they_are(node: Node) -> None:
    words = ["two words", "", "$HOME `id` \\ \" ' ; | & *", "line\nline", "-n", "ünïcödé 中"]
    assert node.run(["printf", "%s\\0", *words]).stdout == b"".join(word.encode() + b"\0" for word in words)


def test_it_runs_as_root_with_a_path(node: Node) -> None:
    assert node.run(["id", "-u"]).stdout == b"0\n"


def test_input_arrives_byte_for_byte(node: Node) -> None:
    data = bytes(range(256)) * 7
    assert node.run(["cat"], input=data).stdout == data


def test_without_input_there_is_an_end_of_input(node: Node) -> None:
    assert node.run(["cat"], timeout=30) == (0, b"", b"")


def test_a_command_may_leave_its_input_unread(node: Node) -> None:
    assert node.run(["true"], input=b"x" * 4 * MEGABYTE, timeout=60).code == 0


def test_large_input_and_output(node: Node) -> None:
    data = os.urandom(MEGABYTE) * 8
    assert node.run(["cat"], input=data, timeout=120).stdout == data


def test_large_output_on_both_streams(node: Node) -> None:
    script = f"head -c {6 * MEGABYTE} /dev/zero >&2 & head -c {6 * MEGABYTE} /dev/zero; wait"
    result = node.run(["sh", "-c", script], timeout=120)
    assert (result.code, len(result.stdout), len(result.stderr)) == (0, 6 * MEGABYTE, 6 * MEGABYTE)


@pytest.mark.parametrize("name", ["TERM", "KILL", "INT"])
def test_a_signal_is_128_and_its_number(node: Node, name: str) -> None:
    assert node.run(["bash", "-c", f"kill -{name} $$; sleep 60"], timeout=30).code == 128 + signal.Signals[f"SIG{name}"]


def test_a_command_that_takes_too_long_is_ended(node: Node) -> None:
    with pytest.raises(TimeoutError):
        node.run(["sh", "-c", "sleep 4711; true"], timeout=1)
    eventually(lambda: node.run(["pgrep", "-f", "^sleep 4711"]).code == 1)


def test_children_that_stay_behind_do_not_hold_up_the_answer(node: Node) -> None:
    assert node.run(["sh", "-c", "sleep 4712 & echo done"], timeout=30).stdout == b"done\n"
    node.run(["pkill", "-f", "^sleep 4712"])


def test_several_at_once(node: Node) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda number: node.run(["sh", "-c", f"sleep 0.2; echo {number}; exit {number}"]), range(16)))
    assert [(result.code, result.stdout) for result in results] == [(number, f"{number}\n".encode()) for number in range(16)]


def attach(box: Box, kind: str, *argv: str) -> list[str]:
    return [sys.executable, "-m", "minikube.testing.attach", box.subject.definition.name, box.machine, kind, *argv]


def test_attached_to_pipes(running: Box, environment: dict[str, str]) -> None:
    argv = attach(running, "pipes", "sh", "-c", "tr a-z A-Z; echo oops >&2; exit 5")
    done = subprocess.run(argv, input=b"shout", env=environment, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, b"SHOUT", b"oops\n")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_are_passed_on_to_an_attached_command(running: Box, environment: dict[str, str], name: str) -> None:
    script = f"trap 'echo caught; exit 7' {name.removeprefix('SIG')}; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(attach(running, "pipes", "bash", "-c", script), env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.Signals[name])
        assert process.stdout.read() == b"caught\n"
        assert process.wait(60) == 7


def test_an_attached_command_ends_when_its_client_is_killed(running: Box, environment: dict[str, str]) -> None:
    argv = attach(running, "pipes", "sh", "-c", "echo ready; sleep 4713; true")
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    eventually(lambda: running.node.run(["pgrep", "-f", "^sleep 4713"]).code == 1)


def test_attached_to_a_terminal(running: Box, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    argv = attach(running, "tty", "sh", "-c", "test -t 0 && test -t 1 && echo terminal; exit 9")
    process = subprocess.Popen(argv, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:
        pass  # nobody has the other end open any more
    finally:
        os.close(ours)
    assert (process.wait(60), seen.strip()) == (9, b"terminal")
