"""A host with people: `dev` may use sudo without a password, `typist` has to give one, `guest` may not use it.

Only its own processes see it, in a mount namespace: nothing of the real /etc changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.minikube import CLONE, Place
from support.secondmachineimage import FILES, provide_machine_image

from minikube.profiles.paths import store

PROGRAM, STORE, HOMES = "/opt/minikube", "/opt/store", "/home"
USERS = {"dev": 1000, "guest": 1001, "typist": 1002}
PASSWORD = "correct horse"
# As `openssl passwd -6` makes it.
_HASH = "$6$minikubetests$o0n6E3QW7KYwYPb0fKzrAwbT4BjDffGpxbCSzfjHrUcY48mSTytL7bijA3lU1MR2UnJ7kef2arY3Vxl.fXF7Q0"
_FILES = {
    "etc/passwd": FILES["etc/passwd"] + "typist:x:1002:1002::/home/typist:/bin/sh\n",
    "etc/group": FILES["etc/group"] + "typist:x:1002:\n",
    "etc/shadow": FILES["etc/shadow"] + f"typist:{_HASH}:20000:0:99999:7:::\n",
    "etc/sudoers": FILES["etc/sudoers"] + "typist ALL=(ALL:ALL) ALL\n",
    "etc/pam.d/sudo": FILES["etc/pam.d/sudo"].replace("auth required pam_deny.so", "auth required pam_unix.so nodelay"),
}
# The store is read-only there: what is in it is shared with everybody else on this machine.
_FURNISH = """
set -e
mount --make-rprivate /
mount -t overlay -o lowerdir="$1/root/usr:/usr" people /usr
mount -t overlay -o lowerdir="$1/root/etc:/etc" people /etc
mount -t tmpfs none /opt
mkdir "$4" "$5"
mount --bind "$2" "$4"
mount --bind "$3" "$5"
mount -o remount,bind,ro "$5"
mount --bind "$1/home" "$6"
mount -t tmpfs none /run
# A Python that is installed in root's home is nobody else's.
case "$7" in /root/*)
    mkdir /opt/python
    mount --bind "$7" /opt/python
    mount -t tmpfs -o mode=755 none /root
    mkdir -p "$7"
    mount --bind /opt/python "$7"
esac
echo ready
exec sleep infinity
"""


class Somebody(Place):
    """A user of that host, with the home directory that the system gives one."""

    def __init__(self, name: str, directory: Path, keeper: int) -> None:
        super().__init__(directory / "home" / name)
        self.name, self.uid, self.keeper = name, USERS[name], keeper
        self.kubeconfig = self.directory / ".kube" / "config"
        self.inside = f"{HOMES}/{name}"
        self.home_seen = f"{self.inside}/.minikube"
        self.environment = {
            "HOME": self.inside,
            "USER": name,
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "MINIKUBE_STORE": STORE,
            "LC_ALL": "C.UTF-8",
        }

    def enter(self) -> list[str]:
        identity = [f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        return ["nsenter", f"--target={self.keeper}", "--mount", f"--wdns={self.inside}", "--", "setpriv", *identity]

    def program(self) -> list[str]:
        python = Path(sys.executable).relative_to(store())
        return [f"{STORE}/{python}", "-B", f"{PROGRAM}/src"]

    def argv(self, words: Sequence[str]) -> list[str]:
        return [*self.enter(), *self.program(), *words]


@contextmanager
def people(directory: Path) -> Iterator[dict[str, Somebody]]:
    """The host lives as long as the block; clusters in it must be deleted before its end."""
    image = provide_machine_image()
    for name in ("usr/bin", "usr/libexec", "etc/pam.d"):
        (directory / "root" / name).mkdir(parents=True)
    for name in ("usr/bin/sudo", "usr/libexec/sudo"):
        subprocess.run(["cp", "-a", str(image / name), str(directory / "root" / name)], check=True)
    for name, text in _FILES.items():
        file = directory / "root" / name
        file.write_text(text)
        file.chmod(0o440 if name in ("etc/sudoers", "etc/shadow") else 0o644)
    for name, number in USERS.items():
        home = directory / "home" / name
        home.mkdir(parents=True, mode=0o700)
        os.chown(home, number, number)
    directory.chmod(0o755)
    places = [str(directory), str(CLONE), str(store()), PROGRAM, STORE, HOMES, sys.base_prefix]
    argv = ["unshare", "--mount", "sh", "-c", _FURNISH, "sh", *places]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as keeper:
        try:
            assert keeper.stdout
            assert keeper.stdout.readline() == "ready\n"
            yield {name: Somebody(name, directory, keeper.pid) for name in USERS}
        finally:
            keeper.kill()
