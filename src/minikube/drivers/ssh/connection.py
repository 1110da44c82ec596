"""One SSH connection to a machine, kept by OpenSSH's own client and shared by every command that needs it.

OpenSSH and not a library: whoever uses this driver has it, it knows the user's keys, agents, jump hosts and hardware tokens, and its
master process keeps the connection and the forwarded ports after this command has ended.
"""

from __future__ import annotations

import contextlib
import os
import socket

from minikube.drivers.ssh.target import Target

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from subprocess import Popen

    from minikube.host.process import Completed

CONNECT_SECONDS = 10
MOST_OUTPUT = 16 << 20  # of a command on the machine
# Relative, and ssh works in the machine's directory: a socket's path may have 107 bytes, a home directory has more.
SOCKET = "ssh.sock"
KNOWN_HOSTS = "known_hosts"
MASTER = "ssh.pid"

OPTIONS = {
    "BatchMode": "yes",  # nobody is there to answer questions
    "StrictHostKeyChecking": "accept-new",  # pinned on first use
    "UserKnownHostsFile": KNOWN_HOSTS,
    "GlobalKnownHostsFile": "none",
    "HashKnownHosts": "no",
    "CheckHostIP": "no",
    "UpdateHostKeys": "no",
    "ConnectTimeout": str(CONNECT_SECONDS),
    "ServerAliveInterval": "4",
    "ServerAliveCountMax": "3",
    "LogLevel": "ERROR",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "EscapeChar": "none",
}


class Connection:
    """`directory` is the machine's own, here: socket, pinned host keys and the master's number are in it."""

    def __init__(self, target: Target, directory: Path) -> None:
        self.target, self.directory = target, directory
        self.opened: Callable[[], None] = lambda: None
        """What is to be done whenever a new connection was made."""

    def is_open(self) -> bool:
        """Whether a master process listens. A connection whose other end has vanished counts as open for some seconds more."""
        try:
            directory = os.open(self.directory, os.O_PATH | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(f"/proc/self/fd/{directory}/{SOCKET}")
        except OSError:
            return False
        finally:
            os.close(directory)
        return True

    def open(self) -> bool:
        """See that there is a connection; True if it was made just now."""
        if self.is_open():
            return False
        with self._alone():
            if self.is_open():
                return False
            self._connect()
            self.opened()
            return True

    def run(self, command: str, *, input: bytes = b"", timeout: float | None = None) -> Completed:
        """Run a command line on the machine, in the user's own shell there, to its end."""
        import subprocess

        from minikube.host.process import PIPE, TIMED_OUT, Completed, ProcessFailed, spawn

        self.open()
        argv, files = self.argv(command), [os.memfd_create(name) for name in ("stdout", "stderr")]
        try:
            process = spawn(argv, stdin=PIPE, stdout=files[0], stderr=files[1], cwd=self.directory, preexec=_bounded)
            try:
                process.communicate(input, timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise ProcessFailed(argv, TIMED_OUT, f"no answer after {timeout:g} s") from None
            stdout, stderr = (os.pread(file, MOST_OUTPUT, 0) for file in files)
        finally:
            for file in files:
                os.close(file)
        return Completed(argv, process.returncode, stdout, stderr)

    def spawn(self, command: str) -> Popen[bytes]:
        """Start a command line on the machine; stdin and stdout are pipes."""
        import subprocess

        from minikube.host.process import spawn

        self.open()
        # A session of its own: Ctrl-C is this command's, which ends the work in order.
        return spawn(
            self.argv(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory, new_session=True
        )

    def argv(self, command: str, *, tty: bool = False) -> list[str]:
        return ["ssh", *self._options(), "-tt" if tty else "-T", "--", self.target.address, command]

    def forward(self, local_port: int, address: str, port: int) -> bool:
        """Have the master listen on a loopback port of this host; False if it cannot."""
        return self._master("forward", "-L", f"127.0.0.1:{local_port}:{address}:{port}")

    def forbids_forwarding(self) -> bool:
        """Whether the server over there opens no ports for us. A master would find out only when somebody uses one, and tell nobody."""
        from minikube.host.process import ProcessFailed, run

        # A login of its own, because only that says why; the port may well be closed, which is another answer.
        argv = ["ssh", "-oLogLevel=INFO", *self._options(), "-S", "none", "-W", "127.0.0.1:8443", "--", self.target.address]
        try:
            answer = run(argv, cwd=self.directory, timeout=CONNECT_SECONDS * 2, check=False)
        except ProcessFailed:
            return False  # connected, and left open
        return "administratively prohibited" in answer.error_text

    def close(self) -> None:
        """End the connection and the process that keeps it, and forget nothing else."""
        if self.is_open():
            self._master("exit")
        self._end_master()
        for name in (SOCKET, MASTER, "ssh.log"):
            (self.directory / name).unlink(missing_ok=True)

    def _connect(self) -> None:
        import subprocess

        from minikube.drivers.ssh import explain
        from minikube.host.process import ProcessFailed, spawn

        self.target.require_usable()
        (self.directory / SOCKET).unlink(missing_ok=True)
        log = self.directory / "ssh.log"
        # The master keeps its stderr for good: a file, never a pipe to this command.
        with log.open("wb") as stream:
            argv = ["ssh", *self._options(), "-M", "-N", "-f", "-oClearAllForwardings=yes", "--", self.target.address]
            try:
                process = spawn(argv, stderr=stream, cwd=self.directory)
            except ProcessFailed:
                raise explain.no_client() from None
            try:
                code = process.wait(timeout=CONNECT_SECONDS * 2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise explain.unreachable(self.target, "no answer in time") from None
            except BaseException:
                process.kill()
                raise
        if code:
            raise explain.refused(self.target, log.read_text(errors="replace"), self.directory / KNOWN_HOSTS)
        answer = self._ask_master("check").stderr.decode(errors="replace")
        (self.directory / MASTER).write_text(answer.rpartition("pid=")[2].partition(")")[0])

    def _options(self) -> list[str]:
        target = self.target
        options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
        if target.key:
            options += ["-i", os.path.abspath(target.key), "-oIdentitiesOnly=yes"]  # noqa: PTH100 - quick commands come here
        return [*options, "-S", SOCKET, "-l", target.user, "-p", str(target.port)]

    def _master(self, *words: str) -> bool:
        return self._ask_master(*words).code == 0

    def _ask_master(self, *words: str) -> Completed:
        from minikube.host.process import run

        return run(["ssh", *self._options(), "-O", *words, "--", self.target.address], cwd=self.directory, timeout=15, check=False)

    def _end_master(self) -> None:
        """A master that does not answer any more, or whose socket somebody removed, is ended by its number."""
        import signal

        try:
            number = int((self.directory / MASTER).read_text())
            with open(f"/proc/{number}/comm", "rb") as stream:  # noqa: PTH123
                ours = stream.read().strip() == b"ssh" and os.path.samefile(f"/proc/{number}/cwd", self.directory)  # noqa: PTH121
        except (OSError, ValueError):
            return
        if ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One command at a time connects: a second master would stay behind, unknown to anybody."""
        import fcntl

        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _bounded() -> None:
    """Whatever the machine says, the kernel ends a client that would write more than this."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))
