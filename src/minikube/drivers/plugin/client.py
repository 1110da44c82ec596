"""A docker-machine driver plugin in use: its methods with their types, and the heartbeats that keep it alive."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikube.drivers.plugin.createflags import PluginFlag, as_plugin_flags
from minikube.drivers.plugin.gobtypes import BOOL, BYTES, EMPTY, INT, INTERFACE, STRING, Concrete, Map, Slice, Struct, Type
from minikube.drivers.plugin.netrpc import Connection, ConnectionLost, NoAnswer, RemoteError
from minikube.drivers.plugin.process import ADDRESS_SECONDS, PluginBroken, PluginProcess
from minikube.host.process import ProcessFailed
from minikube.output.debuglog import debug

API_VERSION = 1
STATES = ("None", "Running", "Paused", "Saved", "Stopped", "Stopping", "Starting", "Error", "Timeout")

_HEARTBEAT_SECONDS = 5.0  # a plugin ends itself ten seconds after the last one
_HEARTBEAT_LIMIT = 60.0  # how long an answer to one may take on a busy machine
_QUESTION_LIMIT = 60.0  # for methods that only look something up
_CONNECT_SECONDS = 10.0

# docker-machine 0.5.0 knew the service by the second name only; newer ones know both.
_SERVICES = ("RPCServerDriver", "RpcServerDriver")
# What Go programs register the flags as depends on the name of a package, which a fork has changed.
_FLAGS_NAMES = ("*rpcdriver.RPCFlags", "*rpc.RPCFlags", "*rpcdriver.RpcFlags")
_STRINGS = Slice("[]string", STRING)
_FLAGS = Struct("RPCFlags", (("Values", Map("map[string]interface {}", STRING, INTERFACE)),))


class WrongVersion(Exception):
    """The plugin speaks another version of the protocol."""

    def __init__(self, version: object) -> None:
        self.version = version
        super().__init__(f"Driver binary uses an incompatible API version ({version})")


@contextmanager
def running_plugin(
    name: str,
    binary: Path,
    *,
    config: Mapping[str, Any] | bytes | None = None,
    on_words: Callable[[str], None] = lambda _line: None,
    address_within: float = ADDRESS_SECONDS,
    heartbeat: float = _HEARTBEAT_SECONDS,
    heartbeat_limit: float = _HEARTBEAT_LIMIT,
) -> Iterator[Plugin]:
    """Start a plugin, give it its configuration, and end it in any case."""
    try:
        process = PluginProcess(name, binary, on_words=on_words)
    except ProcessFailed as error:
        raise PluginBroken(str(error)) from error
    asked = False
    try:
        plugin = Plugin(process, address_within=address_within, heartbeat=heartbeat, heartbeat_limit=heartbeat_limit)
        try:
            if config is not None:
                plugin.set_config(config)
            yield plugin
        finally:
            asked = plugin.close()
    finally:
        process.end(asked=asked)


class Plugin:
    """The methods of one plugin process. Errors: RemoteError (the driver's own), PluginBroken (it died or misbehaves)."""

    def __init__(self, process: PluginProcess, *, address_within: float, heartbeat: float, heartbeat_limit: float) -> None:
        self.process = process
        self._service = _SERVICES[0]
        self._heartbeat, self._heartbeat_limit = heartbeat, heartbeat_limit
        self._closing = threading.Event()
        try:
            self._connection = Connection(process.address(timeout=address_within), timeout=_CONNECT_SECONDS)
        except ConnectionLost as error:
            raise self._broken(str(error)) from error
        try:
            self._check_version()
        except BaseException:
            self._connection.close()
            raise
        self._beating = threading.Thread(target=self._beat, name=f"heartbeats of {process.name}", daemon=True)
        self._beating.start()

    def close(self) -> bool:
        """Ask the plugin to end. Its answer races with its end, so a lost connection is as good as one; False if it does not react."""
        self._closing.set()
        try:
            self._connection.call(f"{self._service}.Close", timeout=_HEARTBEAT_SECONDS)
            reacted = True
        except (NoAnswer, RemoteError):
            reacted = False
        except ConnectionLost:
            reacted = True
        self._connection.close()
        self._beating.join()
        return reacted

    def set_config(self, config: Mapping[str, Any] | bytes) -> None:
        """Merge a configuration into the driver's; keys it does not know are ignored, missing ones keep their defaults."""
        raw = config if isinstance(config, bytes) else json.dumps(config).encode()
        self._call("SetConfigRaw", BYTES, raw, timeout=_QUESTION_LIMIT)

    def config(self) -> dict[str, Any]:
        """The driver's whole configuration: the only memory it has from one process to the next."""
        raw = self._call("GetConfigRaw", timeout=_QUESTION_LIMIT)
        try:
            config = json.loads(raw)
        except (TypeError, ValueError):
            config = None
        if not isinstance(config, dict):
            raise PluginBroken(f"{self.process.binary.name} answered GetConfigRaw with something that is no configuration")
        return config

    def create_flags(self) -> tuple[PluginFlag, ...]:
        return as_plugin_flags(self._call("GetCreateFlags", timeout=_QUESTION_LIMIT))

    def set_flags(self, values: Mapping[str, str | int | bool | list[str]]) -> None:
        """Configure the driver by its create flags."""
        # docker-machine's own flags, which some drivers read although nobody uses swarm any more.
        whole = {"swarm-master": False, "swarm-host": "", "swarm-discovery": "", "engine-install-url": "", **values}
        held = {key: _concrete(value) for key, value in whole.items()}
        for last, name in enumerate(_FLAGS_NAMES, start=1 - len(_FLAGS_NAMES)):
            try:
                self._call("SetConfigFromFlags", INTERFACE, Concrete(name, _FLAGS, {"Values": held}), timeout=_QUESTION_LIMIT)
            except RemoteError as error:
                if last == 0 or "name not registered" not in str(error):
                    raise
            else:
                return

    def driver_name(self) -> str:
        return self._text("DriverName")

    def machine_name(self) -> str:
        return self._text("GetMachineName")

    def ip(self) -> str:
        return self._text("GetIP")

    def url(self) -> str:
        return self._text("GetURL")

    def ssh_hostname(self) -> str:
        return self._text("GetSSHHostname")

    def ssh_username(self) -> str:
        return self._text("GetSSHUsername")

    def ssh_key_path(self) -> str:
        return self._text("GetSSHKeyPath")

    def ssh_port(self) -> int:
        return self._number("GetSSHPort")

    def state(self) -> str:
        """One of STATES."""
        number = self._number("GetState")
        if not 0 <= number < len(STATES):
            raise PluginBroken(f"{self.process.binary.name} answered GetState with {number}, which is no state")
        return STATES[number]

    def pre_create_check(self) -> None:
        self._call("PreCreateCheck")

    def create(self) -> None:
        self._call("Create")

    def start(self) -> None:
        self._call("Start")

    def stop(self) -> None:
        self._call("Stop")

    def restart(self) -> None:
        self._call("Restart")

    def kill(self) -> None:
        self._call("Kill")

    def remove(self) -> None:
        self._call("Remove")

    def _text(self, method: str) -> str:
        answer = self._call(method, timeout=_QUESTION_LIMIT)
        if not isinstance(answer, str):
            raise PluginBroken(f"{self.process.binary.name} answered {method} with something that is no text")
        return answer

    def _number(self, method: str) -> int:
        answer = self._call(method, timeout=_QUESTION_LIMIT)
        if not isinstance(answer, int) or isinstance(answer, bool):
            raise PluginBroken(f"{self.process.binary.name} answered {method} with something that is no number")
        return answer

    def _call(self, method: str, type: Type = EMPTY, value: Any = None, *, timeout: float | None = None) -> Any:
        debug(f"({self.process.name}) calling .{method}")
        try:
            return self._connection.call(f"{self._service}.{method}", type, value, timeout=timeout)
        except NoAnswer:
            raise PluginBroken(f"{self.process.binary.name} did not answer {method} within {timeout:g} s") from None
        except ConnectionLost as error:
            raise self._broken(str(error), during=method) from error

    def _broken(self, why: str, *, during: str = "") -> PluginBroken:
        when = f" during {during}" if during else ""
        if ended := self.process.how_it_ended():
            return PluginBroken(f"{ended}{when}")
        return PluginBroken(f"{self.process.binary.name} is of no use{when}: {why}")

    def _check_version(self) -> None:
        try:
            version = self._call("GetVersion", timeout=_QUESTION_LIMIT)
        except RemoteError as error:
            debug(f"({self.process.name}) asking by the old name: {error}")
            self._service = _SERVICES[1]
            try:
                version = self._call("GetVersion", timeout=_QUESTION_LIMIT)
            except RemoteError as second:
                raise PluginBroken(f"{self.process.binary.name} does not tell its API version: {second}") from second
        if version != API_VERSION:
            raise WrongVersion(version)

    def _beat(self) -> None:
        while not self._closing.wait(self._heartbeat):
            try:
                self._connection.call(f"{self._service}.Heartbeat", timeout=self._heartbeat_limit)
            except ConnectionLost:
                return
            except NoAnswer:
                self._connection.give_up(f"it did not answer a heartbeat within {self._heartbeat_limit:g} s")
                return
            except RemoteError as error:
                debug(f"({self.process.name}) heartbeat: {error}")


def _concrete(value: str | int | bool | list[str]) -> Concrete:
    """Drivers insist on exactly these four Go types."""
    if isinstance(value, bool):
        return Concrete("bool", BOOL, value)
    if isinstance(value, int):
        return Concrete("int", INT, value)
    if isinstance(value, str):
        return Concrete("string", STRING, value)
    return Concrete("[]string", _STRINGS, value)
