"""Another machine, for whatever works over SSH: Debian with OpenSSH and sudo, an address, processes and control groups of its own.

No Python, no systemd, no network but the cable to this host. It is a `runc` container whose root is a plain directory, because a
node's containers are overlays, and an overlay's writable part may not lie on another overlay.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.machinespec import KERNEL_MESSAGES, bind, device, machine_spec, mount
from support.secondmachineimage import provide_machine_image
from support.waiting import eventually

from minikube.profiles.paths import store

OWN = ("etc", "home", "root", "srv", "var")
PROGRAM = ("/usr/bin/tini", "--", "/usr/sbin/sshd", "-D", "-e")
# What changes by itself while somebody is logged in.
FLEETING = ("run/sshd.pid", "run/utmp", "run/sudo", "var/lib/sudo", "var/log")
CGROUPS = Path("/sys/fs/cgroup")


class SecondMachine:
    """`root` and `dev` (may use sudo without a password) and `guest` (may not) log in with `key`."""

    port = 22
    user = "root"
    sudo_user = "dev"
    plain_user = "guest"

    def __init__(self, directory: Path, image: Path, runc: Path) -> None:
        self.directory, self.image, self._runc = directory, image, runc
        self.id = f"{random.randrange(16**6):06x}"
        self.key = directory / "id_ed25519"
        self.other_key = directory / "id_not_known_there"
        self.process = 0
        self.pristine: dict[str, list[str]] = {}
        self.link = f"t2-{self.id}"
        # Reserved for measurements between devices: nobody routes to it.
        self._network = f"198.18.{random.randrange(256)}.{random.randrange(0, 256, 4)}"
        first, _, last = self._network.rpartition(".")
        self._gateway, self.address = f"{first}.{int(last) + 1}", f"{first}.{int(last) + 2}"

    @property
    def root(self) -> Path:
        return self.directory / "bundle/rootfs"

    def install(self) -> None:
        """A root of its own; the programs are the image's, read-only."""
        self.root.mkdir(parents=True)
        for entry in os.scandir(self.image):
            if entry.is_symlink() or entry.name in OWN:
                subprocess.run(["cp", "-a", entry.path, str(self.root)], check=True)
            else:
                (self.root / entry.name).mkdir()
        for key in (self.key, self.other_key):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(key)], check=True)
        for home in ("root", f"home/{self.sudo_user}", f"home/{self.plain_user}"):
            place = self.root / home / ".ssh"
            place.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(f"{self.key}.pub", place / "authorized_keys")
            owner = place.parent.stat()
            for path in (place, place / "authorized_keys"):
                os.chown(path, owner.st_uid, owner.st_gid)
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost second-{self.id}\n")
        self.new_host_key()

    def new_host_key(self) -> None:
        """As if the machine had been installed anew; counts from the next connection (sshd starts itself again for each)."""
        key = self.root / "etc/ssh/ssh_host_ed25519_key"
        key.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)], input=b"y\n", check=True)
        self.reload()

    def reload(self) -> None:
        """Have sshd read its configuration and keys again."""
        if self.process:
            self.run("sh", "-c", "kill -HUP $(cat /run/sshd.pid)")

    def start(self) -> None:
        (self.directory / "bundle/config.json").write_text(json.dumps(self._configuration()))
        pid_file = self.directory / "pid"
        with (self.directory / "log").open("ab") as log:
            self._do("create", "--bundle", str(self.directory / "bundle"), "--pid-file", str(pid_file), self.id, output=log)
        self.process = int(pid_file.read_text())
        self._forget_route()
        self._ip(f"link add {self.link} type veth peer name eth0 netns {self.process}", f"addr add {self._gateway}/30 dev {self.link}")
        self._ip(f"link set {self.link} up")
        # No address of its own making: it would come a second later than everything else.
        inside = (
            "link set lo up",
            "link set eth0 addrgenmode none",
            f"addr add {self.address}/30 dev eth0",
            "link set eth0 up",
            f"route add default via {self._gateway}",
        )
        self._ip(*inside, namespace=self.process)
        self._do("start", self.id)
        eventually(self._listens, seconds=30)

    def stop(self) -> None:
        """The plug is pulled: whatever ran there is gone, its disk stays."""
        if self.process:
            self._do("delete", "--force", self.id)
            subprocess.run(["ip", "link", "del", self.link], capture_output=True, check=False)
            # The next router says so at once, instead of letting everybody wait.
            self._ip(f"route replace unreachable {self._network}/30")
            for controller in [CGROUPS] if (CGROUPS / "cgroup.controllers").exists() else CGROUPS.iterdir():
                group = controller / "mk-second-machine" / self.id
                for below, _, _ in os.walk(group, topdown=False):
                    Path(below).rmdir()
                with suppress(OSError):  # others may have theirs in there
                    group.parent.rmdir()
            self.process = 0

    def _forget_route(self) -> None:
        subprocess.run(["ip", "route", "del", "unreachable", f"{self._network}/30"], capture_output=True, check=False)

    def run(self, *argv: str) -> str:
        """What a command on the machine writes, without SSH; it must succeed."""
        argv = ("nsenter", "-t", str(self.process), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", *argv)
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def snapshot(self) -> dict[str, list[str]]:
        """Everything that could be left behind there, by kind: to be equal before and after."""
        return {
            "processes": [line for line in self.run("ps", "-e", "-o", "args=").splitlines() if not line.startswith(("ps ", "sshd:"))],
            "links": sorted(name.partition(":")[0].strip() for name in self.run("cat", "/proc/net/dev").splitlines()[2:]),
            "routes": self._ip("route", "show", "table", "all", namespace=self.process, batch=False).splitlines(),
            "tables": subprocess.run(
                ["nsenter", "-t", str(self.process), "-n", "chroot", str(_node_image()), "nft", "list", "ruleset"],
                capture_output=True, text=True, check=True,
            ).stdout.splitlines(),
            "mounts": [line.partition(" - ")[0].split(" ")[4] for line in self.run("cat", "/proc/self/mountinfo").splitlines()],
            "cgroups": sorted(self.run("find", "/sys/fs/cgroup", "-type", "d").splitlines()),
            "forwarding": [self.run("cat", "/proc/sys/net/ipv4/ip_forward")],
            "files": sorted(self._files()),
        }  # fmt: skip

    def _files(self) -> Iterator[str]:
        for path in self.run("find", "/", "-xdev", "-not", "-path", "/proc/*").splitlines():
            if not any(path.startswith(f"/{fleeting}") for fleeting in FLEETING):
                yield path
        yield from self.run("find", "/run", "/tmp", "-not", "-name", "sshd.pid", "-not", "-path", "/run/sudo*").splitlines()

    def _listens(self) -> bool:
        return any(line.split()[1].endswith(":0016") for line in self.run("cat", "/proc/net/tcp").splitlines()[1:])

    def _ip(self, *lines: str, namespace: int = 0, batch: bool = True) -> str:
        enter = ["nsenter", "-t", str(namespace), "-n"] if namespace else []
        argv = [*enter, "ip", *(("-batch", "-") if batch else lines)]
        return subprocess.run(argv, input="\n".join(lines), capture_output=True, text=True, check=True).stdout

    def _do(self, *words: str, output: Any = None) -> None:
        # The machine's first process keeps these streams: never pipes that somebody waits on.
        argv = [str(self._runc), "--root", str(self.directory / "runc"), *words]
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=output or subprocess.DEVNULL, stderr=output or subprocess.DEVNULL, check=True)

    def _configuration(self) -> dict[str, Any]:
        programs = [bind(self.image / name, f"/{name}", "ro") for name in ("bin", "lib", "lib64", "sbin", "usr")]
        return machine_spec(
            PROGRAM,
            name=f"second-{self.id}",
            group=f"/mk-second-machine/{self.id}",
            mounts=[*programs, mount("/run/sshd", "tmpfs", "mode=755")],
            devices=[KERNEL_MESSAGES, device("/dev/fuse", 10, 229)],
        )


@contextmanager
def second_machine() -> Iterator[SecondMachine]:
    """Running when it is given; gone without a trace afterwards. Needs root, and a runc and a node image in the store."""
    runc = max(store().glob("entries/runc-*/content/runc"), key=lambda path: path.stat().st_mtime)
    # Not below /tmp, which may be memory: the components take some hundred megabytes.
    machine = SecondMachine(Path(tempfile.mkdtemp(prefix="mk-second-machine-", dir="/var/tmp")), provide_machine_image(), runc)
    try:
        machine.install()
        machine.start()
        yield machine
    finally:
        machine.stop()
        machine._forget_route()
        subprocess.run(["rm", "-rf", "--one-file-system", str(machine.directory)], check=True)


def _node_image() -> Path:
    return max(store().glob("entries/node-image-*/content"), key=lambda path: path.stat().st_mtime)
