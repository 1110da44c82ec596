"""Every way a plugin can misbehave, with a plugin that does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from support.waiting import eventually

from minikube.drivers.plugin.client import Plugin, WrongVersion, running_plugin
from minikube.drivers.plugin.netrpc import RemoteError
from minikube.drivers.plugin.process import PluginBroken, PluginProcess
from minikube.host.process import run

pytestmark = pytest.mark.build

Opener = Callable[..., AbstractContextManager[Plugin]]
PROGRAM = "docker-machine-driver-misbehaving"


@pytest.fixture
def opened(misbehaving: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    """A plugin that misbehaves in the way its first argument names, with a machine directory in place."""
    (tmp_path / "machines/m1").mkdir(parents=True)

    def open_plugin(how: str = "", **options: object) -> AbstractContextManager[Plugin]:
        monkeypatch.setenv("MISBEHAVE", how)
        config = {"MachineName": "m1", "StorePath": str(tmp_path)}
        return running_plugin("misbehaving", misbehaving, config=config, **options)  # type: ignore[arg-type]

    return open_plugin


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_plugin_that_behaves(opened: Opener) -> None:
    with opened() as plugin:
        assert plugin.machine_name() == "m1"
        assert plugin.driver_name() == "misbehaving"
        with pytest.raises(RemoteError, match="the machine does not exist"):
            plugin.state()
        plugin.pre_create_check()
        plugin.create()
        assert plugin.state() == "Running"
        assert (plugin.ip(), plugin.ssh_port()) == ("127.0.0.1", 22)
        plugin.stop()
        assert plugin.state() == "Stopped"
        plugin.remove()
        assert plugin.config()["IPAddress"] == "127.0.0.1"
        pid = plugin.process.pid
    assert gone(pid)


def test_create_flags_of_every_kind_although_they_span_messages(opened: Opener) -> None:
    with opened() as plugin:
        flags = {flag.name: flag for flag in plugin.create_flags()}
    assert [(flag.kind, flag.default) for flag in flags.values()] == [
        ("string", "as it was"),
        ("int", -7),
        ("bool", False),
        ("stringArray", ["one", "two, three"]),
        ("string", ""),
    ]
    assert flags["misbehaving-text"].usage == "A text"
    assert flags["misbehaving-text"].variable == "MISBEHAVING_TEXT"


@pytest.mark.parametrize("how", ["", "renamed"])
def test_flags_arrive_with_their_types_whatever_their_package_is_called(opened: Opener, how: str) -> None:
    values = {"text": "ä", "number": -3, "yes": True, "no": False, "list": ["a", ""]}
    with opened(how) as plugin:
        plugin.set_flags(values)
        found = plugin.config()["Flags"]
    assert {name: found[name] for name in values} == values
    assert (found["swarm-master"], found["swarm-host"], found["swarm-discovery"], found["engine-install-url"]) == (False, "", "", "")


def test_the_drivers_own_refusal_of_flags(opened: Opener) -> None:
    with opened() as plugin, pytest.raises(RemoteError, match=r"^the switch must stay off$"):
        plugin.set_flags({"misbehaving-switch": True})


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("banner", 'said "Welcome to the misbehaving driver!" where it must say the address'),
        ("dead", r"ended with exit code 127 \(libvirt.so.0: cannot open shared object file\) before it said"),
        ("closed", "does not take connections: Connection refused"),
        ("html", "does not speak Go's RPC; it said: HTTP/1.0 200 OK"),
        ("noise", "sent something that is no answer"),
    ],
)
def test_no_plugin_at_all(opened: Opener, how: str, why: str) -> None:
    with pytest.raises(PluginBroken, match=why) as caught, opened(how):
        pass
    assert PROGRAM in str(caught.value)


def test_a_mute_plugin_is_given_up(misbehaving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISBEHAVE", "mute")
    process = PluginProcess("misbehaving", misbehaving)
    try:
        with pytest.raises(PluginBroken, match=r"did not say within 0.5 s where it listens"):
            process.address(timeout=0.5)
    finally:
        process.end()
    assert gone(process.pid)


@pytest.mark.parametrize("content", [b"\x7fELF nonsense", b"#!/no/such/interpreter\n", b""])
def test_a_program_that_cannot_run(tmp_path: Path, content: bytes) -> None:
    program = tmp_path / PROGRAM
    program.write_bytes(content)
    program.chmod(0o755)
    with pytest.raises(PluginBroken, match=f"{PROGRAM} ended with exit code"), running_plugin("misbehaving", program):
        pass


def test_another_version_of_the_protocol(opened: Opener) -> None:
    with pytest.raises(WrongVersion, match=r"Driver binary uses an incompatible API version \(2\)"), opened("version"):
        pass


def test_a_plugin_of_the_first_release_is_asked_by_its_old_name(opened: Opener) -> None:
    with opened("old") as plugin:
        assert plugin.driver_name() == "misbehaving"


def test_an_error_of_create_is_told_in_the_drivers_words(opened: Opener) -> None:
    with opened("create") as plugin:
        with pytest.raises(RemoteError, match=r"^no space left for machines$"):
            plugin.create()
        assert plugin.machine_name() == "m1", "the plugin can still be used"


def test_a_panic_in_create_is_an_error(opened: Opener) -> None:
    with opened("panic") as plugin:
        with pytest.raises(RemoteError, match="Panic in the driver: nil map"):
            plugin.create()
        assert plugin.machine_name() == "m1"


def test_a_panic_elsewhere_ends_the_plugin(opened: Opener) -> None:
    with opened() as plugin:
        with pytest.raises(PluginBroken, match=rf"{PROGRAM} ended with exit code 2 \(panic: no URL here.*\) during GetURL"):
            plugin.url()
        with pytest.raises(PluginBroken, match="ended with exit code 2"):
            plugin.machine_name()


@pytest.mark.parametrize(("how", "ended"), [("exit", r"exit code 4 \(out of luck\)"), ("killed", "SIGKILL")])
def test_a_plugin_that_dies_in_create(opened: Opener, how: str, ended: str) -> None:
    with opened(how) as plugin, pytest.raises(PluginBroken, match=f"{ended}.* during Create"):
        plugin.create()
    assert gone(plugin.process.pid)


@pytest.mark.parametrize(("how", "act"), [("state", Plugin.state), ("config", Plugin.config)])
def test_answers_that_make_no_sense(opened: Opener, how: str, act: Callable[[Plugin], object]) -> None:
    with opened(how) as plugin, pytest.raises(PluginBroken, match="answered Get"):
        act(plugin)


def test_answers_come_in_any_order_and_heartbeats_go_on_while_a_machine_is_made(opened: Opener) -> None:
    """This one ends itself after one second without a heartbeat, and takes three to create a machine."""
    order: list[str] = []

    def create(plugin: Plugin) -> None:
        plugin.create()
        order.append("created")

    with opened("slow", heartbeat=0.2) as plugin:
        creating = threading.Thread(target=create, args=(plugin,))
        creating.start()
        for _ in range(20):
            assert plugin.machine_name() == "m1"
        order.append("asked")
        creating.join()
        assert plugin.state() == "Running"
    assert order == ["asked", "created"]


def test_without_heartbeats_a_plugin_ends_itself_and_that_is_said(opened: Opener) -> None:
    with opened("impatient", heartbeat=60) as plugin:
        eventually(lambda: plugin.process.how_it_ended(wait=0) != "", seconds=20)
        with pytest.raises(PluginBroken, match=r"ended with exit code 1( .*)? during GetMachineName"):
            plugin.machine_name()


def test_a_plugin_that_does_not_answer_heartbeats_fails_the_calls_that_wait(opened: Opener, misbehaving: Path) -> None:
    with opened("frozen", heartbeat=0.1, heartbeat_limit=0.5) as plugin:
        with pytest.raises(PluginBroken, match=r"during Create: it did not answer a heartbeat within 0.5 s"):
            plugin.create()
        plugin.process.end(grace=0.1)
    assert gone(plugin.process.pid)


def test_a_plugin_that_will_not_end_is_killed(opened: Opener) -> None:
    with opened("stubborn") as plugin:
        plugin.process.end(grace=0.1)
    assert gone(plugin.process.pid)


def test_lines_of_any_length_pass(opened: Opener) -> None:
    lines: list[str] = []
    with opened("lines", on_words=lines.append) as plugin:
        plugin.create()
        assert plugin.state() == "Running"
    assert "after the long line" in lines
    assert max(map(len, lines)) < 10_000


def test_what_a_plugin_has_started_may_stay_and_hold_its_output(opened: Opener) -> None:
    """A virtual machine, for instance."""
    lines: list[str] = []
    with opened("child", on_words=lines.append) as plugin:
        plugin.create()
    child = int(next(line for line in lines if "child" in line).split()[-1])
    try:
        assert not gone(child)
        assert gone(plugin.process.pid)
    finally:
        os.kill(child, signal.SIGTERM)


def test_the_token_stays_with_the_plugin(opened: Opener) -> None:
    with opened() as plugin:
        inside = Path(f"/proc/{plugin.process.pid}/environ").read_bytes().split(b"\0")
        assert {b"MACHINE_PLUGIN_TOKEN=42", b"MACHINE_PLUGIN_DRIVER_NAME=misbehaving"} <= set(inside)
        assert "MACHINE_PLUGIN" not in run(["env"]).text
    assert not [name for name in os.environ if name.startswith("MACHINE_PLUGIN")]


def test_without_the_token_it_is_no_plugin(misbehaving: Path) -> None:
    done = subprocess.run([misbehaving], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "This is a Docker Machine plugin binary." in done.stderr


def test_it_goes_with_us_even_if_we_are_killed(misbehaving: Path, tmp_path: Path) -> None:
    """In the middle of a Create that would take an hour; Ctrl-C in our terminal does not reach it before."""
    (tmp_path / "machines/m1").mkdir(parents=True)
    program = (
        "import sys, pathlib\n"
        "from minikube.drivers.plugin.client import running_plugin\n"
        "config = {'MachineName': 'm1', 'StorePath': sys.argv[2]}\n"
        "with running_plugin('misbehaving', pathlib.Path(sys.argv[1]), config=config) as plugin:\n"
        "    print(plugin.process.pid, flush=True)\n"
        "    plugin.create()\n"
    )
    us = subprocess.Popen(
        [sys.executable, "-c", program, misbehaving, tmp_path], stdout=subprocess.PIPE, env={**os.environ, "MISBEHAVE": "endless"}
    )
    try:
        assert us.stdout is not None
        pid = int(us.stdout.readline())
        eventually(lambda: (tmp_path / "machines/m1/machine.state").exists(), seconds=20)
        assert os.getsid(pid) != os.getsid(us.pid)
    finally:
        us.kill()
        us.wait()
    eventually(lambda: gone(pid), seconds=20)


def test_interruption_ends_the_plugin(opened: Opener) -> None:
    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), opened("endless") as plugin:
        threading.Thread(target=interrupt).start()
        plugin.create()
    assert gone(plugin.process.pid)
