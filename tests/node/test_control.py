"""The host's side: commands in a node, and a node that is not there."""

from __future__ import annotations

import errno
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from supervised_node import SupervisedNode, alive, until

from minikube.node.control import Control, ControlUnreachable

MEBIBYTE = 1 << 20
ATTACH = (
    "import sys; from minikube.node.control import Control; sys.exit(Control(sys.argv[1]).attach(sys.argv[3:], tty=sys.argv[2] == 'tty'))"
)


def attached(node: SupervisedNode, mode: str, *argv: str) -> list[str]:
    return [sys.executable, "-c", ATTACH, str(node.socket), mode, *argv]


def test_exit_code_streams_environment_and_directory(node: SupervisedNode) -> None:
    node.start([])
    script = "cat; pwd; echo $GREETING; echo oops >&2; exit 7"
    assert node.control.run(["sh", "-c", script], input=b"in\n", env={"GREETING": "hello"}, cwd="/usr") == (
        7,
        b"in\n/usr\nhello\n",
        b"oops\n",
    )


@pytest.mark.parametrize(
    ("argv", "code"),
    [(["/nowhere/program"], 127), (["no-such-program"], 127), (["/etc/passwd"], 126), (["sh", "-c", "kill -9 $$"], 137), (["true"], 0)],
)
def test_exit_codes(node: SupervisedNode, argv: list[str], code: int) -> None:
    node.start([])
    found, _, stderr = node.control.run(argv)
    assert found == code
    assert (argv[0].encode() in stderr) == (code in (126, 127))


def test_a_command_begins_with_no_signal_blocked_or_ignored_and_no_descriptor_too_many(node: SupervisedNode) -> None:
    node.start([])
    _, status, _ = node.control.run(["cat", "/proc/self/status"])
    fields = dict(line.split(":", 1) for line in status.decode().splitlines())
    named = sum(1 << number - 1 for number in signal.valid_signals())  # the C library keeps two for itself
    assert (int(fields["SigBlk"], 16) & named, int(fields["SigIgn"], 16) & named) == (0, 0)
    _, descriptors, _ = node.control.run(["sh", "-c", "echo /proc/$$/fd/*"])
    assert {Path(path).name for path in descriptors.decode().split()} <= {"0", "1", "2", "3"}  # 3: the listed directory itself


def test_much_goes_in_and_much_comes_out(node: SupervisedNode) -> None:
    node.start([])
    data = os.urandom(5 * MEBIBYTE)
    assert node.control.run(["tee", "/dev/stderr"], input=data) == (0, data, data)
    assert node.control.run(["true"], input=data) == (0, b"", b"")


def test_background_processes_do_not_hold_up_the_answer(node: SupervisedNode) -> None:
    node.start([])
    assert node.control.run(["sh", "-c", "sleep 1000 & echo done"]) == (0, b"done\n", b"")


def test_a_command_that_takes_too_long_is_ended(node: SupervisedNode, tmp_path: Path) -> None:
    node.start([])
    with pytest.raises(TimeoutError):
        node.control.run(["sh", "-c", f"trap '' HUP; echo $$ > {tmp_path}/pid; while :; do sleep 1; done"], timeout=0.5)
    pid = int(until(lambda: node.lines("pid"))[0])
    until(lambda: not alive(pid))
    with pytest.raises(TimeoutError):
        node.control.run(["yes"], timeout=0.2)


def test_a_command_ends_when_its_client_vanishes(node: SupervisedNode, tmp_path: Path) -> None:
    node.start([])
    client = subprocess.Popen(attached(node, "pipe", "sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 1000"), stdin=subprocess.PIPE)
    pid = int(until(lambda: node.lines("pid"))[0])
    client.kill()
    client.communicate()
    until(lambda: not alive(pid))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(node: SupervisedNode, tmp_path: Path, number: signal.Signals) -> None:
    node.start([])
    script = f"trap 'exit 40' INT TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done"
    client = subprocess.Popen(attached(node, "pipe", "sh", "-c", script), stdin=subprocess.DEVNULL)
    until(lambda: node.lines("pid"))
    until(lambda: catches(client.pid, signal.SIGTERM))
    client.send_signal(number)
    assert client.wait(20) == 40


def test_attach_hands_over_pipes(node: SupervisedNode) -> None:
    node.start([])
    data = os.urandom(MEBIBYTE)
    done = subprocess.run(attached(node, "pipe", "sh", "-c", "cat; exit 3"), input=data, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (3, data)


def catches(pid: int, number: signal.Signals) -> bool:
    mask = next(line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


class Terminal:
    """A terminal with a client on it, as a person has one."""

    def __init__(self, argv: list[str], *, rows: int, columns: int) -> None:
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (rows, columns))
        self.settings = termios.tcgetattr(self.slave)
        self.shown = b""
        self.client = subprocess.Popen(
            argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True, preexec_fn=lambda: os.login_tty(os.dup(0))
        )

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def shows(self, text: bytes) -> Callable[[], bool]:
        def look() -> bool:
            while select.select([self.master], [], [], 0)[0]:
                try:
                    self.shown += os.read(self.master, 65536)
                except OSError as error:
                    assert error.errno == errno.EIO
                    break
            return text in self.shown

        return look


def test_a_shell_on_a_terminal_of_the_node(node: SupervisedNode) -> None:
    node.start([])
    terminal = Terminal(attached(node, "tty", "sh", "-c", "tty; stty size; read line; echo got-$line; exec sh -i"), rows=31, columns=97)
    until(terminal.shows(b"31 97"))
    terminal.type(b"words\r")
    until(terminal.shows(b"got-words"))
    termios.tcsetwinsize(terminal.master, (40, 120))
    terminal.client.send_signal(signal.SIGWINCH)
    terminal.type(b"stty size\r")
    until(terminal.shows(b"40 120"))
    terminal.type(b"sh -c 'echo at-\"\"work; exec sleep 1000'\r")
    until(terminal.shows(b"at-work"))  # said by the command, not by the terminal that echoes what is typed
    terminal.type(b"\x03")
    terminal.type(b"echo code-$?\r")
    until(terminal.shows(b"code-130"))
    terminal.type(b"exit 9\r")
    assert terminal.client.wait(20) == 9
    assert termios.tcgetattr(terminal.slave) == terminal.settings


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_our_terminal_is_restored_when_the_client_is_ended(node: SupervisedNode, number: signal.Signals) -> None:
    node.start([])
    terminal = Terminal(attached(node, "tty", "sh", "-c", "echo ready; exec sleep 1000"), rows=24, columns=80)
    until(terminal.shows(b"ready"))
    until(lambda: termios.tcgetattr(terminal.slave) != terminal.settings)
    terminal.client.send_signal(number)
    assert terminal.client.wait(20) == 128 + number
    assert termios.tcgetattr(terminal.slave) == terminal.settings


def test_without_a_terminal_of_the_node_ours_stays_outside(node: SupervisedNode) -> None:
    node.start([])
    terminal = Terminal(
        attached(node, "pipe", "sh", "-c", "test -t 0 || test -t 1 || test -t 2 || echo none; cat; exit 5"), rows=24, columns=80
    )
    until(terminal.shows(b"none"))
    terminal.type(b"typed\r\x04")
    until(terminal.shows(b"typed\r\ntyped"))
    assert terminal.client.wait(20) == 5


def test_a_long_path_to_the_socket(node: SupervisedNode, tmp_path: Path) -> None:
    node.start([])
    far = tmp_path / ("x" * 100) / ("y" * 100) / "control.sock"
    far.parent.mkdir(parents=True)
    node.socket.rename(far)
    assert Control(far).status()["ok"]
    far.rename(node.socket)


def test_nobody_there(tmp_path: Path, node: SupervisedNode) -> None:
    with pytest.raises(ControlUnreachable):
        Control(tmp_path / "nowhere" / "control.sock").status()
    node.start([])
    assert node.control.shutdown(20)
    with pytest.raises(ControlUnreachable):
        until(lambda: not node.control.status())


def test_status_imports_little() -> None:
    script = "import sys; import minikube.node.control; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout.split()
    assert not {"subprocess", "socket", "json", "dataclasses", "tempfile"} & set(loaded)
