"""The lock of the whole host: one holder among all processes, and nobody but root can be one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from minikube.host import hostlock
from minikube.output.reason import Reason

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can take it")
HOLD = """
from minikube.host.hostlock import host_lock
with host_lock():
    print("held", flush=True)
    input()
"""
# What any user can do to a file that it may open: hold a lock on it for ever. And the name that was the lock once.
SQUAT = """
import fcntl, os, socket
os.setgroups([]); os.setresgid(4711, 4711, 4711); os.setresuid(4711, 4711, 4711)
old = socket.socket(socket.AF_UNIX)
old.bind("\\0minikube-choosing-a-subnet")
for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_PATH):
    try:
        fcntl.flock(os.open({file!r}, flags), fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("squatted", flush=True)
    except OSError:
        pass
print("done", flush=True)
input()
"""


def _begin(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@needs_root
def test_it_has_one_holder_among_all_processes_and_ends_with_it() -> None:
    with _begin(HOLD) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Reason, match="held the lock of this host"), hostlock.host_lock(timeout=0.1):
            pass
        holder.kill()
    with hostlock.host_lock(timeout=0):
        pass


@needs_root
def test_nobody_but_root_can_hold_it_up() -> None:
    with _begin(SQUAT.format(file=hostlock._FILE)) as squatter:
        assert squatter.stdout
        assert squatter.stdout.readline() == "done\n"
        try:
            with hostlock.host_lock(timeout=0):
                pass
        finally:
            squatter.kill()
