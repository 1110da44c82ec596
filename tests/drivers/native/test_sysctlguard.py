"""Settings of the host that cannot be written in a guarded control group, by root, through any /proc."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator

import pytest

from minikube.drivers.native import sysctlguard
from minikube.host import cgroups

GROUP = f"/minikube-test-{secrets.token_hex(4)}"
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not sysctlguard.is_possible(), reason="needs root, control groups of version 2, and BPF for them"
)
# Each name is written with the value that it has; in namespaces of network and IPC as a container has them.
SCRIPT = """
mount -t proc proc /mnt
for name in "$@"; do
    cat /mnt/$name > /dev/null || { echo "$name unreadable"; continue; }
    value=$(cat /mnt/$name)
    if (echo "$value" > /mnt/$name) 2> /dev/null; then echo "$name written"; else echo "$name refused"; fi
done
"""
OF_NAMESPACES = ("sys/net/ipv4/ip_forward", "sys/kernel/shm_rmid_forced", "sys/kernel/msgmax", "sys/kernel/sem", "sys/fs/mqueue/msg_max")
OF_THE_HOST = ("sys/kernel/core_pattern", "sys/kernel/panic", "sys/vm/swappiness", "sys/fs/file-max", "sys/kernel/pid_max")


@pytest.fixture
def group() -> Iterator[str]:
    sysctlguard.attach(GROUP)
    yield GROUP
    cgroups.remove(GROUP)


def outcome(*names: str, group: str = "") -> list[str]:
    argv = ["unshare", "--mount", "--net", "--ipc", "--pid", "--fork", "sh", "-c", SCRIPT, "sh", *names]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, preexec_fn=cgroups.joining(group) if group else None)
    return [line.split()[1] for line in done.stdout.splitlines()]


def test_settings_of_the_host_are_refused(group: str) -> None:
    assert outcome(*OF_THE_HOST) == ["written"] * len(OF_THE_HOST), "the test could not even try"
    assert outcome(*OF_THE_HOST, group=group) == ["refused"] * len(OF_THE_HOST)


def test_settings_of_a_pods_own_namespaces_are_written(group: str) -> None:
    assert outcome(*OF_NAMESPACES, group=group) == ["written"] * len(OF_NAMESPACES)


def test_groups_below_are_guarded_and_can_be_guarded_twice(group: str) -> None:
    sysctlguard.attach(group)
    assert outcome("sys/kernel/core_pattern", group=f"{group}/below") == ["refused"]


def test_the_guard_ends_with_its_group(group: str) -> None:
    cgroups.remove(group)
    assert outcome("sys/kernel/core_pattern", group=group) == ["written"]
