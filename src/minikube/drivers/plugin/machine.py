"""A machine that a plugin makes: what is known of it, and its life. A plugin process lives as long as one of these calls."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from minikube.drivers import machinefile
from minikube.drivers.plugin.client import Plugin, running_plugin
from minikube.drivers.plugin.configuration import OURS, UNFINISHED, plain
from minikube.drivers.plugin.explain import explained, words
from minikube.drivers.plugin.netrpc import RemoteError
from minikube.drivers.plugin.process import PluginBroken
from minikube.output.debuglog import debug
from minikube.output.progress import Progress, Task
from minikube.output.reason import Reason
from minikube.profiles.paths import machine_directory

_SSH_SECONDS = 180.0  # from power to a log-in, as long as docker-machine waits
_SETTLE_SECONDS = 60.0
# Drivers of machines that somebody else looks after have no power switch, and say so in these words.
_NO_SWITCH = ("not support", "cannot be stopped", "not implemented")


class PluginMachine:
    """One machine of one plugin. Whatever must outlast a command is in the machine's config.json."""

    def __init__(self, name: str, binary: Path, machine: str, own: Mapping[str, Any]) -> None:
        self.name, self.machine = name, machine
        self._binary, self._own = binary, own

    def target(self) -> dict[str, Any] | None:
        """How to log in there; None if it was never made, or not to the end."""
        ours = self._kept().get(OURS) or {}
        return ours if ours and UNFINISHED not in ours else None

    def ensure_running(self, progress: Progress) -> None:
        """Make it if it was never made, start it if it is off, and wait until one can log in."""
        made = self.target() is not None
        label = f"The driver '{self.name}' {'looks after' if made else 'makes'} the machine \"{self.machine}\""
        with progress.task(label) as task:
            if made:
                self._switch_on(task)
            else:
                self._make(task)
            self._wait_for_login(task)

    def state(self) -> str:
        with self._plugin("GUEST_STATUS", f'cannot tell how the machine "{self.machine}" is') as plugin:
            return plugin.state()

    def stop(self) -> None:
        with self._plugin("GUEST_STOP_TIMEOUT", f'cannot stop the machine "{self.machine}"') as plugin:
            try:
                plugin.stop()
            except RemoteError as error:
                if not any(sign in str(error) for sign in _NO_SWITCH):
                    raise
                debug(f"the machine {self.machine} stays on: {error}")
            self._remember(plugin, reach=self.target())

    def remove(self) -> None:
        """What was made, or half made; the configuration is kept, to make it again with."""
        kept = self._kept()
        ours = kept.get(OURS)
        if not ours:
            return
        config = ours.get(UNFINISHED) or plain(kept)
        with self._plugin("GUEST_DELETION", f'cannot remove the machine "{self.machine}"', config=config) as plugin:
            try:
                plugin.remove()
            except RemoteError as error:
                if UNFINISHED not in ours and _exists(plugin):
                    raise
                debug(f"the machine {self.machine} is gone already: {error}")
        machinefile.save(self.machine, self.name, plain(kept))
        self._clear()

    def _make(self, task: Task) -> None:
        self.remove()
        config = plain(self._kept()) or plain(self._own)
        directory = machine_directory(self.machine)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (directory / "known_hosts").unlink(missing_ok=True)  # a new machine has a new key
        with self._plugin("GUEST_PROVISION", f'cannot make the machine "{self.machine}"', config=config, task=task) as plugin:
            plugin.pre_create_check()
            before = plugin.config()
            machinefile.save(self.machine, self.name, before | {OURS: {UNFINISHED: before}})
            try:
                plugin.create()
            except RemoteError:
                # Half a machine helps nobody, and the next attempt may have other settings.
                with suppress(RemoteError, PluginBroken):
                    plugin.remove()
                    machinefile.save(self.machine, self.name, config)
                raise
            self._remember(plugin)

    def _switch_on(self, task: Task) -> None:
        with self._plugin("GUEST_START", f'cannot start the machine "{self.machine}"', task=task) as plugin:
            state = self._settled(plugin)
            if state != "Running":
                plugin.start()
            self._remember(plugin)

    def _settled(self, plugin: Plugin) -> str:
        """Its state once it is neither starting nor stopping; a machine that is not there any more is told as such."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            try:
                state = plugin.state()
            except RemoteError as error:
                raise self._vanished(words(error)) from error
            if state == "None":
                raise self._vanished("it does not know such a machine any more")
            if state not in ("Starting", "Stopping") or time.monotonic() > deadline:
                return state
            time.sleep(0.5)

    def _vanished(self, why: str) -> Reason:
        return Reason(
            "GUEST_PROVISION",
            f"The machine \"{self.machine}\" that the driver '{self.name}' made is gone: {why}",
            advice="Bring it back, or delete what is left of the cluster (minikube delete) and start it again.",
        )

    def _wait_for_login(self, task: Task) -> None:
        target = self.target() or {}
        address = (str(target.get("IPAddress")), int(target.get("SSHPort") or 22))
        deadline = time.monotonic() + _SSH_SECONDS
        while not _speaks_ssh(address):
            task.note(f"waiting for SSH on {address[0]}:{address[1]}")
            if time.monotonic() > deadline:
                raise Reason(
                    "GUEST_PROVISION",
                    f'The machine "{self.machine}" runs, but SSH on {address[0]}:{address[1]} does not answer',
                    advice="See what the machine waits for, and whether a firewall is in between; then run `minikube start` again.",
                )
            time.sleep(0.5)

    def _remember(self, plugin: Plugin, *, reach: Mapping[str, Any] | None = None) -> None:
        """Its configuration is the only memory a plugin has; how to log in is asked while somebody can answer."""
        reach = reach or {
            "IPAddress": plugin.ssh_hostname(),
            "SSHPort": plugin.ssh_port(),
            "SSHUser": plugin.ssh_username(),
            "SSHKeyPath": plugin.ssh_key_path(),
        }
        machinefile.save(self.machine, self.name, plugin.config() | {OURS: dict(reach)})

    def _clear(self) -> None:
        """Keys, disks and logs that the plugin has left lying about."""
        for entry in machine_directory(self.machine).iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != "config.json":
                entry.unlink(missing_ok=True)

    def _kept(self) -> dict[str, Any]:
        return machinefile.load(self.machine)

    @contextmanager
    def _plugin(self, id: str, what: str, *, config: Mapping[str, Any] | None = None, task: Task | None = None) -> Iterator[Plugin]:
        note = task.note if task else debug
        given = plain(self._kept()) if config is None else config
        with explained(self.name, id, what), running_plugin(self.name, self._binary, config=given, on_words=note) as plugin:
            yield plugin


def _exists(plugin: Plugin) -> bool:
    try:
        return plugin.state() != "None"
    except RemoteError:
        return False


def _speaks_ssh(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, timeout=5) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
