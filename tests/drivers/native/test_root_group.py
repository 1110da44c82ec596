"""What a node's first process leaves its root group by, on a real hierarchy of version 2 (any kernel has one, whichever is in use)."""

from __future__ import annotations

import os
import subprocess

import pytest

from minikube.drivers.native.setup import LEAVE_ROOT_GROUP

# In a cgroup namespace, as in a node: its root is the group of whoever made it.
_NODE = """
set -e
mount --make-rprivate /
mount -t cgroup2 none /sys/fs/cgroup
group=/sys/fs/cgroup/mk-test-$$
mkdir $group
echo $$ > $group/cgroup.procs
trap 'echo $$ > /sys/fs/cgroup/cgroup.procs; rmdir $group/services; rmdir $group' EXIT
unshare --cgroup --mount sh -ec '
umount /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
sh -c "$1"
cat /sys/fs/cgroup/cgroup.procs
echo left
cat /proc/self/cgroup
' sh "$1"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_nobody_stays_in_the_nodes_root_group() -> None:
    done = subprocess.run(["unshare", "--mount", "sh", "-c", _NODE, "sh", LEAVE_ROOT_GROUP], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    still_there, _, now_in = done.stdout.partition("left\n")
    assert still_there == ""
    assert "0::/services\n" in now_in
