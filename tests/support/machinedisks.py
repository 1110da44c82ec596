"""Disks of an emulated machine: an ordinary Debian with systemd, and what somebody carries to a machine without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from support.minikube import CLONE

from minikube.artifacts.store import Recipe, Store
from minikube.host.process import run
from minikube.output.progress import Progress

# What a small installation of Debian has; nothing that minikube ought to bring itself.
PACKAGES = (
    *("systemd", "systemd-sysv", "udev", "dbus", "libpam-systemd", "openssh-server", "sudo", "iproute2", "ca-certificates", "procps"),
    *("kmod", "python3", "python3-venv", "linux-image-amd64", "initramfs-tools", "zstd"),
)
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
DISK = "12G"
CARGO = "/media/cargo"

# The first process where there is to be no systemd, as a container's or an embedded machine's might be.
PLAIN_INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs none /dev
mount -t tmpfs none /run; mkdir -p /dev/pts /dev/shm /run/sshd
mount -t devpts devpts /dev/pts; mount -t tmpfs none /dev/shm; mount -t cgroup2 none /sys/fs/cgroup
mount -o remount,rw /; mount -a; hostname elsewhere
modprobe virtio_net; sleep 1
ip link set lo up; ip address add 10.0.2.15/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.2.2
/usr/sbin/sshd
exec python3 -c 'import os, time
while True:
    try: os.wait()
    except ChildProcessError: time.sleep(1)'
"""

FILES = {
    "etc/fstab": f"/dev/vda / ext4 defaults 0 1\n/dev/vdb {CARGO} ext4 ro 0 0\n",
    "etc/hosts": "127.0.0.1 localhost\n127.0.1.1 elsewhere\n",
    "etc/hostname": "elsewhere\n",
    "etc/resolv.conf": "nameserver 10.0.2.3\n",
    "etc/systemd/network/cable.network": "[Match]\nName=en* eth*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n",
    # An administrator's way to say: everything from here, nothing from the network.
    "etc/pip.conf": f"[global]\nno-index = true\nfind-links = {CARGO}/wheels\n",
    "etc/sudoers.d/dev": "dev ALL=(ALL:ALL) NOPASSWD: ALL\n",
    # Whoever brings the cargo may log in, as anybody.
    "etc/ssh/sshd_config.d/tests.conf": f"PermitRootLogin prohibit-password\nUseDNS no\nAuthorizedKeysFile {CARGO}/key.pub\n",
    "sbin/plain-init": PLAIN_INIT,
    "etc/initramfs-tools/conf.d/small": "MODULES=list\n",
    "etc/initramfs-tools/hooks/disk": (
        "#!/bin/sh\n[ \"$1\" = prereqs ] && exit 0\n. /usr/share/initramfs-tools/hook-functions\n"
        "manual_add_modules virtio_pci virtio_blk ext4\n"
    ),
}  # fmt: skip
EXECUTABLE = ("sbin/plain-init", "etc/initramfs-tools/hooks/disk")
FINISH = """
set -e
useradd --create-home --shell /bin/bash dev
useradd --create-home --shell /bin/bash guest
systemctl enable systemd-networkd ssh
systemctl mask systemd-networkd-wait-online.service apt-daily.timer apt-daily-upgrade.timer
update-initramfs -u
rm -rf /var/cache/apt/archives/*.deb /var/lib/apt/lists/* /usr/share/doc /usr/share/man /usr/share/locale
"""


def provide_machine(suite: str) -> Path:
    """A directory with `disk`, `vmlinuz` and `initrd`."""
    recipe = Recipe(
        name=f"test-machine-{suite}",
        identity=f"{suite} {PACKAGES} {FILES} {FINISH} {DISK} 1",
        build=lambda target, _progress: _install(suite, target),
        host_packages=("mmdebstrap",),
        estimate_seconds=120,
        what=f"a machine for tests (Debian {suite})",
    )
    return Store().provide(recipe, Progress(None))


def _install(suite: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target) as name:
        root = Path(name) / "root"
        for file, text in FILES.items():
            place = Path(name) / "files" / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            place.chmod(0o755 if file in EXECUTABLE else 0o440 if "sudoers" in file else 0o644)
        early, late = (f"cp -r --preserve=mode {name}/files/{part}/. $1/{part}" for part in ("etc", "sbin"))
        run([
            "mmdebstrap", "--variant=apt", "--quiet", "--aptopt=Apt::Install-Recommends false", "--dpkgopt=force-confold",
            f"--include={','.join(PACKAGES)}", f"--essential-hook={early}", f"--customize-hook={late}", f"--customize-hook={early}",
            f'--customize-hook=chroot "$1" sh -c \'{FINISH}\'', suite, str(root),
        ])  # fmt: skip
        (root / CARGO.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for kind in ("vmlinuz", "initrd"):
            [file] = (root / "boot").glob(f"{kind}*-amd64*")
            shutil.copyfile(file, target / kind)
        run(["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(target / "disk"), DISK])


def provide_wheels(suite: str) -> Path:
    """The Python packages of this project, as files for that Debian's Python."""
    needed = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]["dependencies"]

    def fetch(target: Path, _progress: Progress) -> None:
        options = ("--only-binary=:all:", f"--python-version={PYTHONS[suite]}", f"--dest={target}")
        run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *options, *needed])

    recipe = Recipe(f"test-wheels-{PYTHONS[suite]}", f"{needed} 1", fetch, estimate_seconds=10, what="Python packages for tests")
    return Store().provide(recipe, Progress(None))


def load_cargo(disk: Path, suite: str, *files: Path) -> None:
    """A disk with this clone, its Python packages, and some files (a bundle, images for pods)."""
    with tempfile.TemporaryDirectory(dir=disk.parent) as name:
        clone = Path(name) / "minikube"
        clone.mkdir()
        for part in ("minikube", "pyproject.toml"):
            shutil.copy2(CLONE / part, clone / part)
        shutil.copytree(CLONE / "src", clone / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(provide_wheels(suite), Path(name) / "wheels")
        for file in files:
            shutil.copyfile(file, Path(name) / file.name)
        Path(name).chmod(0o755)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", name, str(disk), "3G"], check=True)
