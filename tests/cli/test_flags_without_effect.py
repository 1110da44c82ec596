"""`start` says at once which of the given flags do nothing, and the documentation says the same."""

from __future__ import annotations

import os

import pytest
from support.program import Program
from support.tools import load_tool

from minikube.cli.startflags import START_FLAGS
from minikube.drivers.ssh import definition as ssh
from minikube.profiles.settings import Flag
from minikube.profiles.values import format_duration


def written(flag: Flag) -> str:
    if flag.kind == "bool":
        return "true" if flag.default else "false"
    if flag.kind == "duration":
        return format_duration(flag.default)
    return ",".join(flag.default) if isinstance(flag.default, list) else str(flag.default)


@pytest.mark.skipif(os.geteuid() != 0, reason="the native driver is refused without root before any flag is looked at")
def test_the_same_as_documented(minikube: Program) -> None:
    docs = load_tool("generate_docs")
    flags = [flag for flag in START_FLAGS if flag.kind != "extra"]
    words = [f"--{flag.name}={written(flag)}" for flag in flags if flag.name not in ("dry-run", "driver", "vm-driver")]
    done = minikube("start", "--dry-run", "--force", "-v=3", "--alsologtostderr=false", *words)
    assert done.returncode == 0, done.stderr
    warned = {line.split()[1].removeprefix("--") for line in done.stderr.splitlines() if "has no effect yet" in line}
    of_other_drivers = {*ssh.FLAGS, "disk-size"}  # the pages call them read, since some driver does
    assert warned == docs.without_effect(flags, "start") - {"driver", "vm-driver", "dry-run"} | of_other_drivers
