"""A machine that root opens in a person's home is root's, and reached by a way that the person cannot change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.forperson import UID, for_person, open_place, persons

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root works for others")

OPEN = """
from minikube.drivers.native.driver import NativeDriver
driver = NativeDriver("box")
driver.enter(make=True)
print(driver.facts())
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with open_place() as directory:
        yield directory


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    persons(tmp_path / "home")
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "native.json").write_text('{"subnet": "192.168.1.0/24"}')
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    return tmp_path / "home" / ".minikube"


def test_a_new_one_is_roots_and_the_person_can_read_it(home: Path) -> None:
    assert for_person(OPEN) == "{}"
    about = (home / "machines" / "box").stat()
    assert (about.st_uid, about.st_gid, about.st_mode & 0o777) == (0, UID, 0o750)
    assert (home / "machines").stat().st_uid == UID


@pytest.mark.parametrize(
    "make",
    [
        lambda home, roots: (home / "machines" / "box").symlink_to(roots),
        lambda home, roots: (home / "machines" / "box").symlink_to("/etc"),
        lambda home, roots: (home / "machines" / "box").write_text("x"),
        lambda home, roots: (home / "machines" / "box").mkdir() or os.chown(home / "machines" / "box", 4712, 4712),
        lambda home, roots: (home / "machines" / "box").mkdir() or (home / "machines" / "box").chmod(0o777),
    ],
    ids=["link", "link to /etc", "file", "a third person's", "writable by all"],
)
def test_what_is_not_roots_own_directory_is_refused(home: Path, make: object) -> None:
    persons(home / "machines")
    make(home, home.parents[1] / "roots")  # type: ignore[operator]
    said = for_person(OPEN)
    assert "so root does not use it" in said
    assert (home.parents[1] / "roots" / "native.json").read_text() == '{"subnet": "192.168.1.0/24"}'


def test_machines_that_lead_to_a_directory_of_roots_are_refused(home: Path) -> None:
    persons(home)
    (home / "machines").symlink_to(home.parents[1])
    (home.parents[1] / "roots").rename(home.parents[1] / "box")
    assert "belongs to user 0, and root works for user 4711" in for_person(OPEN)


def test_a_home_of_ones_own_may_be_kept_behind_a_link(home: Path) -> None:
    persons(home.parents[1] / "disk" / "machines")
    home.symlink_to(home.parents[1] / "disk")
    assert for_person(OPEN) == "{}"
    assert (home.parents[1] / "disk" / "machines" / "box").stat().st_uid == 0


def test_a_machine_of_the_version_before_is_taken_over_and_not_believed(home: Path) -> None:
    machine = persons(home / "machines" / "box")
    facts = {"subnet": "192.168.49.0/24", "runc": "/tmp/runc", "furnished": True, "limits": {"cpus": 1, "memory_mb": 2048, "pids": 0}}
    persons(machine / "native.json", json.dumps(facts))
    persons(machine / "host-changes.json", json.dumps([{"kind": "bridge", "name": "eth0", "address": "?"}, {"kind": "podmounts"}]))
    persons(machine / "config.json", '{"DriverName": "none"}')
    persons(machine / "run")
    (machine / "state").mkdir()
    (machine / "node.log").symlink_to(home.parents[1] / "roots" / "native.json")
    open_before = os.open(machine / "native.json", os.O_WRONLY)
    said = for_person(OPEN)
    assert "192.168.49.0/24" in said
    assert "/tmp/runc" not in said
    assert json.loads((machine / "host-changes.json").read_text()) == [{"kind": "podmounts"}]
    assert not (machine / "node.log").is_symlink()
    assert machine.stat().st_uid == 0
    assert {path.name: path.lstat().st_uid for path in machine.iterdir()} == {
        **dict.fromkeys(("native.json", "host-changes.json", "state"), 0),
        **dict.fromkeys(("config.json", "run"), UID),
    }
    assert (machine / "config.json").stat().st_mode & 0o777 == 0o600
    # Whoever had the old file open writes to the old file.
    os.write(open_before, b'{"runc": "/tmp/runc"}' + b" " * 500)
    os.close(open_before)
    assert "/tmp/runc" not in (machine / "native.json").read_text()


@pytest.mark.parametrize("name", ["state", "bundle", "images", "runc"])
def test_a_machine_whose_node_is_not_roots_is_not_taken_over(home: Path, name: str) -> None:
    machine = persons(home / "machines" / "box" / name).parent
    persons(machine / "native.json", '{"subnet": "192.168.49.0/24", "mine": "/tmp"}')
    machine.chmod(0o755)
    for _ in range(2):  # what was refused once is refused again, and stays as it was
        assert f"has a {name} that is not root's" in for_person(OPEN)
        about = machine.stat()
        assert (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (UID, UID, 0o755)
    assert "mine" in (machine / "native.json").read_text()


INTERRUPTED = """
import itertools
from minikube.drivers.native import machinedirectory, records
from minikube.drivers.native.driver import NativeDriver
calls, last = itertools.count(1), int(sys.argv[1])
def ending(call):
    def late(*words, **named):
        done = call(*words, **named)
        if next(calls) == last:
            print("interrupted", flush=True)
            os._exit(1)
        return done
    return late
for name in ("fchown", "fchmod", "listdir", "unlink", "chown"):
    setattr(os, name, ending(getattr(os, name)))
NativeDriver("box").enter()
print("finished")
"""


def test_a_takeover_that_was_interrupted_at_any_moment_is_begun_again(home: Path, tmp_path: Path) -> None:
    machine, moments = home / "machines" / "box", 0
    for moment in range(1, 50):
        persons(machine)
        machine.chmod(0o750)
        persons(machine / "native.json", '{"subnet": "192.168.49.0/24", "mine": "/tmp"}')
        (machine / "node.log").symlink_to(tmp_path / "roots" / "native.json")
        if for_person(INTERRUPTED, moment) == "finished":
            break
        moments += 1
        assert "mine" not in for_person(OPEN), moment
        assert not (machine / "node.log").is_symlink(), moment
        about = machine.stat()
        assert (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (0, UID, 0o750)
        machine.rename(tmp_path / f"looked-at-{moment}")
    assert 5 <= moments < 49


LATE_LINK = """
from minikube.drivers.native.driver import NativeDriver
from minikube.host.journal import Journal
driver = NativeDriver("box")
driver.enter()
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
os.symlink(sys.argv[2], sys.argv[1])
with credentials.as_root():
    print(os.path.exists(driver.layout.facts))
    Journal(driver.layout.journal).record({"kind": "cgroup", "path": "/x"})
"""
MOVED_AWAY = """
from minikube.drivers.native.driver import NativeDriver
machine, open_file = sys.argv[1], os.open
def late(path, *words, **named):
    if path == "box":
        os.rename(machine, machine + ".away")
    return open_file(path, *words, **named)
os.open = late
NativeDriver("box").enter(make=True)
print("entered")
"""


NODE_OF_A_SWAPPED_MACHINE = """
import socket
from minikube.drivers.native.driver import NativeDriver
machine, other = sys.argv[1:]
driver = NativeDriver("box")
driver.enter(make=True)
listeners = {}
with credentials.as_root():
    (driver.layout.directory / "native.json").write_text('{"subnet": "192.168.49.0/24"}')
    for name, place in {"own": machine, "other": other}.items():
        os.makedirs(place + "/run")
        listeners[name] = socket.socket(socket.AF_UNIX)
        listeners[name].bind(place + "/run/control.sock")
        listeners[name].listen()
        listeners[name].setblocking(False)
        for path in (place + "/run", place + "/run/control.sock"):
            os.chown(path, credentials.person(), credentials.group())
os.rename(machine, machine + ".away")
os.symlink(other, machine)
for rights in (credentials.as_person, credentials.as_root):
    with rights(), driver.node().control.conversation(1):
        for name, listener in listeners.items():
            try:
                listener.accept()
                print(name)
            except BlockingIOError:
                pass
"""


def test_root_talks_to_the_node_of_the_machine_that_it_looked_at(home: Path, tmp_path: Path) -> None:
    assert for_person(NODE_OF_A_SWAPPED_MACHINE, home / "machines" / "box", tmp_path / "roots").split() == ["own", "own"]


NODE_OF_OTHER_FILES = """
import signal
from minikube.drivers.native.box import Box
from minikube.drivers.native.driver import NativeDriver
from minikube.node.places import WRITABLE
from minikube.output.reason import Reason
seen = sys.argv[1]
mounts = {name: name for name in WRITABLE} | {"hostpath-provisioner": "tmp/hostpath-provisioner", "sockets": "run/minikube"}
driver = NativeDriver("box")
driver.enter(make=True)
with credentials.as_root():
    # Links in the place of mounts: looked at from outside, they lead to the same directories.
    for name, where in mounts.items():
        os.makedirs(f"{driver.layout.reached}/state/{name}")
        os.makedirs(os.path.dirname(f"{seen}/{where}"), exist_ok=True)
        os.symlink(f"{driver.layout.place}/state/{name}", f"{seen}/{where}")
    ready, report = os.pipe()
    node = os.fork()
    if node == 0:
        os.chroot(seen)
        os.write(report, b".")
        signal.pause()
    os.read(ready, 1)
    try:
        box, refused = Box(driver), []
        box._require_own_files(node)
        for name, where in mounts.items():
            os.rename(f"{seen}/{where}", f"{seen}/away")
            os.mkdir(f"{seen}/{where}")
            try:
                box._require_own_files(node)
            except Reason:
                refused.append(name)
            os.rmdir(f"{seen}/{where}")
            os.rename(f"{seen}/away", f"{seen}/{where}")
        print("not looked at:", *(name for name in mounts if name not in refused))
    finally:
        os.kill(node, signal.SIGKILL)
"""


def test_a_node_that_was_given_another_directory_than_the_machines_is_not_started(home: Path, tmp_path: Path) -> None:
    persons(home)
    assert for_person(NODE_OF_OTHER_FILES, tmp_path / "seen") == "not looked at:"


def test_a_link_that_comes_after_root_found_no_machine_leads_root_nowhere(home: Path, tmp_path: Path) -> None:
    persons(home)
    assert for_person(LATE_LINK, home / "machines" / "box", tmp_path / "roots") == "False"
    assert [path.name for path in (tmp_path / "roots").iterdir()] == ["native.json"]


def test_a_machine_that_is_moved_away_while_root_opens_it_is_refused(home: Path) -> None:
    for_person(OPEN)
    assert "was moved away while root opened it" in for_person(MOVED_AWAY, home / "machines" / "box")


SWAP = """
import itertools, os, sys
machine, other = sys.argv[1:]
os.setgroups([]); os.setresgid(4711, 4711, 4711); os.setresuid(4711, 4711, 4711)
print("swapping", flush=True)
for number in itertools.count():
    away = f"{machine}.{number}"  # where root has made a machine in its place, the one before stays there
    try:
        os.rename(machine, away); os.symlink(other, machine); os.unlink(machine); os.rename(away, machine)
    except OSError:
        pass
"""
WRITE = """
import itertools, time
from minikube.drivers.native.driver import NativeDriver
from minikube.host.journal import Journal
from minikube.output.reason import Reason
written, deadline = 0, time.monotonic() + 60
for number in itertools.count():
    # Where the other one does not run meanwhile, hundreds of attempts end alike.
    if time.monotonic() > deadline or (number >= 400 and written >= 50):
        break
    driver = NativeDriver("box")
    try:
        with credentials.as_root():
            driver.enter(make=True)
            layout = driver.layout
            (layout.directory / "native.json").write_text("{}")
            Journal(layout.journal).record({"kind": "cgroup", "path": f"/{number}"})
            written += 1
        Path(os.environ["MINIKUBE_HOME"], ".minikube", "note").write_text("x")
    except (Reason, OSError):
        pass
    finally:
        if driver._directory:
            driver._directory.leave()
            os.close(driver._directory._above)
print(written)
"""


def test_a_machine_that_is_swapped_for_a_link_all_the_time_leads_root_nowhere_else(home: Path, tmp_path: Path) -> None:
    persons(home / "machines")
    for_person(OPEN)
    victim = tmp_path / "victim"
    victim.mkdir()
    argv = [sys.executable, "-c", SWAP, str(home / "machines" / "box"), str(victim)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout
        swapper.stdout.readline()
        try:
            written = for_person(WRITE)
        finally:
            swapper.kill()
    assert int(written) >= 50
    assert list(victim.iterdir()) == []
