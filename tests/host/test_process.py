"""The one door through which processes are started."""

import sys

import pytest

from minikube.host.process import ProcessFailed, run


def test_gives_what_the_process_wrote() -> None:
    done = run([sys.executable, "-c", "import sys; print(sys.stdin.read().upper()); print('e', file=sys.stderr)"], input=b"hello")
    assert (done.code, done.text.strip(), done.error_text) == (0, "HELLO", "e")


def test_a_failure_says_the_command_the_code_and_the_words() -> None:
    with pytest.raises(ProcessFailed, match=r"sh -c 'echo no >&2; exit 3'\n.*exit code 3:\nno"):
        run(["sh", "-c", "echo no >&2; exit 3"])


def test_a_missing_program_is_said_to_be_missing() -> None:
    with pytest.raises(ProcessFailed, match="not installed"):
        run(["no-such-program-anywhere"])


def test_a_signal_is_named() -> None:
    with pytest.raises(ProcessFailed, match="SIGKILL"):
        run(["sh", "-c", "kill -9 $$"])


def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ProcessFailed, match="no answer after"):
        run(["sleep", "60"], timeout=0.05)
