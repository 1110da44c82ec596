"""A host of one's own: network, kernel settings of the network and resolv.conf belong to it alone, so tests may change them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.minikube import Place

# /sys/class/net shows the network of whoever mounted it; the control groups below /sys stay the machine's.
_FURNISH = """
set -e
mount --make-rprivate /
mkdir -p "$1/cgroup"
mount --rbind /sys/fs/cgroup "$1/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$1/cgroup" /sys/fs/cgroup
mount --bind "$1/resolv.conf" /etc/resolv.conf
if [ -d /run/systemd/resolve ]; then mount -t tmpfs none /run/systemd/resolve; fi
echo ready
exec sleep infinity
"""


class World(Place):
    """A place in such a host. Commands of `tool` are those of a node image."""

    def __init__(self, directory: Path, keeper: int, image: Path) -> None:
        super().__init__(directory)
        self.keeper, self.image = keeper, image

    def argv(self, words: Sequence[str]) -> list[str]:
        return [*self.enter(), *super().argv(words)]

    def enter(self) -> list[str]:
        return [shutil.which("nsenter") or "nsenter", f"--target={self.keeper}", "--net", "--mount", "--"]

    def tool(self, *words: str) -> str:
        return subprocess.run([*self.enter(), "chroot", str(self.image), *words], capture_output=True, text=True, check=True).stdout

    def read(self, path: str) -> str:
        return subprocess.run([*self.enter(), "cat", path], capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def world(directory: Path, image: Path, *, resolv_conf: str = "") -> Iterator[World]:
    """The host lives as long as the block; clusters in it must be deleted before its end."""
    (directory / "resolv.conf").write_text(resolv_conf)
    argv = ["unshare", "--net", "--mount", "sh", "-c", _FURNISH, "sh", str(directory)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as keeper:
        try:
            assert keeper.stdout
            assert keeper.stdout.readline() == "ready\n"
            made = World(directory, keeper.pid, image)
            made.tool("ip", "link", "set", "lo", "up")
            yield made
        finally:
            keeper.kill()
