"""A process that was started with nothing of the shell's, from a shell with the oddest settings."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.host import inherited, resources
from minikube.host.capabilities import bounding_set

ODD = """
import os, resource, signal, subprocess, sys
for name, soft in (("NOFILE", 256), ("FSIZE", 1 << 30), ("STACK", 1 << 20), ("MEMLOCK", 4096)):
    kind = getattr(resource, f"RLIMIT_{name}")
    resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.umask(0o077)
os.nice(7)
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
open("/proc/self/oom_score_adj", "w").write("300")
from minikube.host import inherited
show = "import os, signal; print(open('/proc/self/limits').read(), open('/proc/self/status').read())"
show += "; print('oom', open('/proc/self/oom_score_adj').read()); print('nice', os.getpriority(os.PRIO_PROCESS, 0))"
print(subprocess.run([sys.executable, "-c", show], preexec_fn=inherited.without(lambda: None), capture_output=True, text=True).stdout)
"""


def field(text: str, name: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(name)).removeprefix(name).split()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may take a nice value back")
def test_nothing_of_the_shell_is_left() -> None:
    said = subprocess.run([sys.executable, "-c", ODD], capture_output=True, text=True, check=True).stdout
    wanted = inherited.limits()
    assert field(said, "Max open files")[:2] == [str(number) for number in wanted["NOFILE"]]
    assert field(said, "Max file size")[0] == "unlimited"
    assert field(said, "Max stack size")[0] == str(8 << 20)
    assert field(said, "Max locked memory")[0] == str(wanted["MEMLOCK"][0]).replace("-1", "unlimited")
    assert int(field(said, "SigIgn:")[0], 16) >> (signal.SIGHUP - 1) & 1 == 0
    assert int(field(said, "SigBlk:")[0], 16) == 0
    assert field(said, "Umask:") == ["0022"]
    assert field(said, "nice") == ["0"]
    assert field(said, "Cpus_allowed_list:") == field(Path("/proc/self/status").read_text(), "Cpus_allowed_list:")
    assert field(said, "oom") == ["0"]


def test_limits_are_the_same_from_every_shell_that_may_raise_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inherited, "bounding_set", lambda: ["CAP_SYS_RESOURCE"])
    assert inherited.limits()["NOFILE"] == (1048576, 1048576)
    assert inherited.limits()["NPROC"] == inherited.limits()["MEMLOCK"] == (-1, -1)


def test_without_that_right_they_are_the_hard_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inherited, "bounding_set", lambda: [name for name in bounding_set() if name != "CAP_SYS_RESOURCE"])
    hard = dict.fromkeys((resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC), (10, 1024))
    monkeypatch.setattr(inherited.resource, "getrlimit", lambda kind: hard.get(kind, (10, -1)))
    found = inherited.limits()
    assert (found["NOFILE"], found["NPROC"], found["FSIZE"]) == ((1024, 1024), (1024, 1024), (-1, -1))


def test_processors_are_those_of_the_machine_not_of_the_shell() -> None:
    own = os.sched_getaffinity(0)
    before = resources.cpus()
    os.sched_setaffinity(0, [min(own)])
    try:
        assert resources.cpus() == before
        assert len(os.sched_getaffinity(0)) == 1
    finally:
        os.sched_setaffinity(0, own)
