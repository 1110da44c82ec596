"""The one door through which processes are started."""

from __future__ import annotations

import os
import sys
import time

from minikube.host import credentials
from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.output.secrets import hide

TYPE_CHECKING = False  # typing costs half of Python's own start; so do subprocess and shlex, and handing over to kubectl needs neither
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO, NoReturn

PIPE, DEVNULL = -1, -3  # of subprocess
TIMED_OUT = 124  # the code of a process that took too long, as timeout(1) has it

# PR_SET_PDEATHSIG; CLONE_NEWNS, then / made private; and CLONE_NEWNET.
_TIED = "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.prctl(1, 15)\n"
_OWN_MOUNTS = """\
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x44000, None):
    sys.exit(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
"""
_OWN_NETWORK = """\
if libc.unshare(0x40000000):
    sys.exit(f"no network namespace: {os.strerror(ctypes.get_errno())}")
"""


class Completed:
    """A process that has ended: its exit code and what it wrote."""

    __slots__ = ("argv", "code", "stderr", "stdout")

    def __init__(self, argv: Sequence[str], code: int, stdout: bytes, stderr: bytes) -> None:
        self.argv, self.code, self.stdout, self.stderr = argv, code, stdout, stderr

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode(errors="replace").strip()


class ProcessFailed(Exception):
    """A process could not be started, ended with an error, or took too long."""

    def __init__(self, argv: Sequence[str], code: int, output: str) -> None:
        self.argv, self.code, self.output = argv, code, output
        import shlex

        super().__init__(f"{shlex.join(hide(argv))}\n{_meaning(code)}" + (f":\n{output}" if output else ""))


def run(
    argv: Sequence[str],
    *,
    input: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    check: bool = True,
    pass_fds: Sequence[int] = (),
    preexec: Callable[[], None] | None = None,
) -> Completed:
    """Run a process to its end and give what it wrote. With `check`, an exit code other than 0 raises ProcessFailed."""
    import shlex
    import subprocess

    began = time.monotonic()
    try:
        done = subprocess.run(
            argv,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            env=env,
            cwd=cwd,
            timeout=timeout,
            pass_fds=pass_fds,
            preexec_fn=preexec,
            check=False,
            **credentials.of_child(),
        )
    except FileNotFoundError as error:
        raise ProcessFailed(argv, 127, str(error)) from None
    except PermissionError as error:
        raise ProcessFailed(argv, 126, str(error)) from None
    except subprocess.TimeoutExpired as late:
        raise ProcessFailed(argv, TIMED_OUT, f"no answer after {late.timeout:g} s") from None
    debug(f"ran in {time.monotonic() - began:.3f}s, exit {done.returncode}: {shlex.join(hide(argv))}")
    completed = Completed(argv, done.returncode, done.stdout, done.stderr)
    if check and done.returncode != 0:
        raise ProcessFailed(argv, done.returncode, (completed.error_text or completed.text)[-4000:])
    return completed


def spawn(
    argv: Sequence[str],
    *,
    stdin: int | IO[bytes] | None = DEVNULL,
    stdout: int | IO[bytes] | None = DEVNULL,
    stderr: int | IO[bytes] | None = DEVNULL,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    new_session: bool = False,
    preexec: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process and leave it running; the caller waits for it or lets it outlive the command."""
    import shlex
    import subprocess

    debug(f"started: {shlex.join(hide(argv))}")
    try:
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=cwd,
            start_new_session=new_session,
            preexec_fn=preexec,  # noqa: PLW1509 - such callers only make system calls
            **credentials.of_child(),
        )
    except FileNotFoundError as error:
        raise ProcessFailed(argv, 127, str(error)) from None
    except PermissionError as error:
        raise ProcessFailed(argv, 126, str(error)) from None


def tied(argv: Sequence[str], *, own_mounts: bool = False, own_network: bool = False) -> list[str]:
    """The same command, ended by the kernel when this process ends, however that happens (also by kill -9).

    With `own_mounts`, what it mounts is in a mount namespace of its own, which goes with it; with `own_network`, it reaches nobody.
    """
    program = _TIED + (_OWN_MOUNTS if own_mounts else "") + (_OWN_NETWORK if own_network else "") + "os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", program, *argv]


def in_network_of_its_own(argv: Sequence[str]) -> list[str]:
    """The same command in a new network namespace, which goes with it: whatever it makes there, the host never sees."""
    program = _TIED + _OWN_NETWORK + "os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", program, *argv]


def become(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> NoReturn:
    """Replace this process by another (kubectl): no wrapper stays in memory, signals and exit code are its own."""
    if credentials.acts_for_person():
        credentials.drop()
    try:
        os.execvpe(argv[0], list(argv), dict(os.environ if env is None else env))  # noqa: S606 - this is the door
    except OSError as error:
        raise Reason("MK_COMMAND_RUNNER", f"{argv[0]} cannot be run: {error.strerror}") from None


def _meaning(code: int) -> str:
    if code == 127:
        return "is not installed or not on the PATH"
    if code == 126:
        return "may not be executed"
    if code < 0:
        import signal

        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
