import os
import signal
import subprocess
import sys

import pytest

from minikube.output.reason import Reason
from minikube.profiles.locks import lock_file, profile_lock

HOLD = """
import sys, time
from minikube.profiles.locks import profile_lock
with profile_lock("dev", command="start"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))


@pytest.fixture
def holder():
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_command_is_told_who_holds_it(holder):
    waits = []
    with pytest.raises(Reason) as caught, profile_lock("dev", command="stop", timeout=0.2, on_wait=waits.append):
        pass
    assert f"minikube start` (process {holder.pid})" in caught.value.message
    assert str(holder.pid) in caught.value.advice
    assert caught.value.exit_code == 31
    assert len(waits) == 1


def test_it_waits_for_its_turn(holder):
    def let_go(_: str) -> None:
        holder.stdin.write("\n")
        holder.stdin.flush()

    with profile_lock("dev", command="stop", timeout=30, on_wait=let_go):
        assert lock_file("dev").read_text() == f"{os.getpid()} minikube stop\n"
    assert lock_file("dev").read_text() == ""


def test_kill_9_frees_it(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with profile_lock("dev", command="stop", timeout=0):
        pass


def test_profiles_do_not_block_each_other(holder):
    with profile_lock("other", command="start", timeout=0):
        pass


def test_the_lock_is_outside_the_profile(home):
    assert "profiles" not in lock_file("dev").parts


DELETE = """
import sys
from minikube.profiles.locks import lock_file, profile_lock
with profile_lock("dev", command="delete"):
    print("held", flush=True)
    sys.stdin.readline()
    lock_file("dev").unlink()
"""
TAKE = """
import sys
from minikube.profiles.locks import profile_lock
with profile_lock("dev", command="start", on_wait=lambda _: print("waits", flush=True)):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_that_is_deleted_while_others_wait_still_has_one_holder():
    def begin(program):
        return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with begin(DELETE) as delete:
        assert delete.stdout.readline() == "held\n"
        with begin(TAKE) as first:
            assert first.stdout.readline() == "waits\n"
            delete.communicate("\n")
            assert first.stdout.readline() == "held\n"
            with pytest.raises(Reason, match="in use by `minikube start`"), profile_lock("dev", command="start", timeout=0.1):
                pass
            first.communicate("\n")


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "content", "pipe"])
def test_what_is_no_lock_is_not_written_to(home, tmp_path, kind):
    precious, lock = tmp_path / "precious", lock_file("dev")
    lock.parent.mkdir(parents=True)
    precious.write_text("1 minikube start\n" if kind == "hard link" else "precious")
    match kind:
        case "link":
            lock.symlink_to(precious)
        case "dangling link":
            lock.symlink_to(tmp_path / "made")
        case "hard link":
            lock.hardlink_to(precious)
        case "content":
            precious.rename(lock)
        case "pipe":
            os.mkfifo(lock)
    with pytest.raises(Reason, match="no lock of minikube") as caught, profile_lock("dev", command="start", timeout=0):
        pass
    assert str(lock) in caught.value.advice
    assert not (tmp_path / "made").exists()
    assert (lock if kind == "content" else precious).read_text() in ("precious", "1 minikube start\n")
