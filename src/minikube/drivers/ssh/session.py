"""Everything one command has to do with one machine: its connection, its agents, its forwarded ports."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading

from minikube.drivers.ssh.channel import Agents, Channel, NoAgent, hexadecimal, start_command
from minikube.drivers.ssh.connection import Connection
from minikube.drivers.ssh.forwards import Forwards
from minikube.drivers.ssh.place import client_id
from minikube.output.reason import Reason
from minikube.profiles.paths import home, machine_directory

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from minikube.artifacts.components import Components
    from minikube.drivers.ssh.probe import Found
    from minikube.drivers.ssh.target import Target
    from minikube.output.progress import Progress


class Session:
    def __init__(self, machine: str, target: Target) -> None:
        self.machine, self.target = machine, target
        self.directory = machine_directory(machine)
        self.connection = Connection(target, self.directory)
        self.forwards = Forwards(self.connection)
        self.client = client_id(home())
        self._file = self.directory / "ssh.json"
        self._agents: Agents | None = None
        self._found: Found | None = None
        self._reaching = threading.Lock()
        self._using = -1
        self.running: bool | None = None
        """Whether the node runs, once somebody has found out."""

    def facts(self) -> dict[str, Any]:
        """What is known of the node without asking; empty if none was ever made."""
        try:
            found: dict[str, Any] = json.loads(self._file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, OSError) as error:
            raise Reason(
                "GUEST_LOAD_HOST",
                f"{self._file} is damaged: {error}",
                advice="Restore it from a copy, or delete the profile (minikube delete) and start it again.",
            ) from error
        return found

    def remember(self, **facts: Any) -> None:
        from minikube.host.files import write_durably

        known = self.facts()
        if known != known | facts:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_durably(self._file, json.dumps(known | facts, indent=2) + "\n", mode=0o600)

    def forget(self) -> None:
        """Everything here that is about the machine, but for the driver's own configuration."""
        self.close()
        self.forwards.forget()
        for name in ("ssh.json", "ssh.lock", "known_hosts", "known_hosts.old"):
            (self.directory / name).unlink(missing_ok=True)

    def found(self) -> Found:
        """What the machine is and has, looked at once."""
        if self._found is None:
            from minikube.drivers.ssh import probe

            self._use()
            try:
                self._found = probe.look(self.connection)
            except BaseException:
                if not self.facts():  # it never was ours: not even its host key is kept
                    self.forget()
                    with contextlib.suppress(OSError):
                        self.directory.rmdir()
                raise
        return self._found

    def equip(self, components: Components, progress: Progress) -> int:
        """See that everything a node needs is there; gives how many bytes had to be copied."""
        from minikube.drivers.ssh import install, transfer

        found = self.found()
        sent = 0
        if not any(name.startswith("node-image-") for name in found.entries):
            image = transfer.entry_of(components.node_image)
            sent += install.install_image(self.connection, found, image, progress)
        with self.channel() as channel:
            return sent + transfer.bring(channel, components, progress, machine=self.target.address)

    def call(self, verb: str, blob: bytes | None = None, **request: Any) -> dict[str, Any]:
        return self.exchange(verb, blob, **request)[0]

    def exchange(self, verb: str, blob: bytes | None = None, **request: Any) -> tuple[dict[str, Any], bytes]:
        with self.channel() as channel:
            return channel.exchange(verb, blob, **request)

    @contextlib.contextmanager
    def channel(self) -> Iterator[Channel]:
        with self._reaching:
            if self._agents is None:
                self._agents = self._reach()
            agents = self._agents
        with agents.channel() as channel:
            yield channel

    def terminal(self, argv: list[str]) -> int:
        """A command of the node on this terminal: OpenSSH knows how to carry keys, colours and window sizes."""
        import signal

        from minikube.host.process import spawn

        with self.channel():  # the agent is there
            pass
        command = self._command("attach", hexadecimal(argv))
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return spawn(self.connection.argv(command, tty=True), stdin=None, stdout=None, stderr=None, cwd=self.directory).wait()
        finally:
            signal.signal(signal.SIGINT, before)

    def close(self) -> None:
        if self._agents:
            self._agents.close()
            self._agents = None
        self.connection.close()

    def _reach(self) -> Agents:
        """Agents that answer. Another version of minikube may have been here last: then this one's agent is brought along."""
        if self.facts().get("user") != self.target.user:  # another user may need sudo, or need it no longer
            self.remember(user=self.target.user, sudo=self.found().sudo)
        self._use()
        agents = Agents(self.connection, self._command())
        try:
            with agents.channel():
                return agents
        except NoAgent:
            self._bring_agent()
        try:
            with agents.channel():
                return agents
        except NoAgent as failed:
            raise Reason(
                "GUEST_PROVISION",
                f"The agent does not start on {self.target.address}: {str(failed)[-1000:] or 'it gives no reason'}",
                advice="Files in /var must be allowed to run there (a mount with noexec forbids it).",
            ) from None

    def _bring_agent(self) -> None:
        from minikube.drivers.ssh import install, probe
        from minikube.drivers.ssh.agentcode import digest

        found = probe.look(self.connection)
        if digest() not in found.agents:
            install.install_agent(self.connection, found, digest())

    def _command(self, *words: str) -> str:
        from minikube.drivers.ssh.agentcode import digest

        return start_command(self.facts().get("sudo", ""), digest(), self.client, self.machine, *words)

    def _use(self) -> None:
        """While the node runs, the connection and its forwarded ports outlive this command. Else the last one to use it ends it."""
        import fcntl

        if self._using < 0:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._using = os.open(self.directory / "ssh.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._using, fcntl.LOCK_SH)
            atexit.register(self.leave)

    def leave(self) -> None:
        """Done for now: ends the connection unless the node runs, or may run, or another command uses it."""
        import fcntl

        if self._using < 0:
            return
        with contextlib.suppress(OSError, Reason):
            if not self.running and (self.running is False or "address" not in self.facts()):
                fcntl.flock(self._using, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.close()
        os.close(self._using)
        self._using = -1
        atexit.unregister(self.leave)
