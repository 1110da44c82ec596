"""This machine once more, with systemd as its first process: a runc container whose root is the real one under an overlay."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.debianpackages import unpack
from support.machinespec import KERNEL_MESSAGES, bind, machine_spec
from support.minikube import CLONE, Place
from support.waiting import eventually

from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress
from minikube.profiles.paths import store

PACKAGES = (
    *("systemd", "systemd-sysv", "libsystemd-shared", "libsystemd0", "dbus", "dbus-bin", "dbus-daemon", "dbus-system-bus-common"),
    *("dbus-session-bus-common", "libdbus-1-3", "libcryptsetup12", "libkmod2", "libfdisk1", "libip4tc2", "libseccomp2", "libapparmor1"),
    *("libargon2-1", "libjson-c5", "libdevmapper1.02.1", "libcap2", "libmount1", "libaudit1", "libssl3", "libgcrypt20", "libexpat1"),
)
# They look after hardware or the network of a whole machine.
MASKED = (
    *("systemd-udevd.service", "systemd-networkd.service", "systemd-resolved.service", "systemd-timesyncd.service", "dev-hugepages.mount"),
    *("sys-kernel-debug.mount", "systemd-journald-audit.socket", "systemd-modules-load.service", "systemd-sysctl.service"),
    *("systemd-tmpfiles-setup.service", "systemd-firstboot.service", "systemd-sysusers.service"),
)
HOME = "/srv"
GROUP = "mk-booted"


class Booted(Place):
    """A place on that machine; commands run as units of its systemd."""

    def __init__(self, directory: Path, runc: Path) -> None:
        super().__init__(directory / "home")
        self.root, self.runc, self.id = directory, runc, f"booted-{os.getpid()}"
        self.home_seen = f"{HOME}/.minikube"
        self.environment |= {"MINIKUBE_HOME": self.home_seen, "KUBECONFIG": f"{HOME}/kubeconfig", "HOME": "/root"}

    def do(self, *words: str, check: bool = True) -> str:
        """What a command on the machine writes."""
        argv = [*self._runc(), "exec", self.id, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=check, stdin=subprocess.DEVNULL).stdout

    def argv(self, words: list[str] | tuple[str, ...]) -> list[str]:  # type: ignore[override]
        names = ("MINIKUBE_HOME", "KUBECONFIG", "HOME", "MINIKUBE_DIE_AT")
        settings = [f"--setenv={name}={self.environment[name]}" for name in names if name in self.environment]
        unit = ["systemd-run", "--wait", "--pipe", "--quiet", "--collect", *settings, *super().argv(words)]
        return [*self._runc(), "exec", self.id, *unit]

    def boot(self) -> None:
        (self.root / "bundle/config.json").write_text(json.dumps(self._configuration()))
        with (self.root / "log").open("wb") as log:
            for words in (["create", "--bundle", str(self.root / "bundle"), self.id], ["start", self.id]):
                subprocess.run([*self._runc(), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
        eventually(lambda: self.do("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"), seconds=60)

    def end(self) -> None:
        subprocess.run([*self._runc(), "delete", "--force", self.id], check=False, capture_output=True)
        for controller in Path("/sys/fs/cgroup").iterdir():
            for below, _, _ in os.walk(controller / GROUP / self.id, topdown=False):
                with suppress(OSError):
                    Path(below).rmdir()
            with suppress(OSError):
                (controller / GROUP).rmdir()

    def _runc(self) -> list[str]:
        return [str(self.runc), "--root", str(self.root / "runc")]

    def _configuration(self) -> dict[str, Any]:
        # Real directories: what containers stand on may not be an overlay of an overlay of an overlay.
        real = [bind(place, place) for place in (store(), CLONE, Path(sys.base_prefix))]
        return machine_spec(
            ["/lib/systemd/systemd", "--log-target=console"],
            name="booted",
            group=f"/{GROUP}/{self.id}",
            mounts=[bind(self.directory, HOME), *real],
            devices=[KERNEL_MESSAGES],
            environment=["container=runc"],
        )


@contextmanager
def booted_systemd() -> Iterator[Booted]:
    """Booted when it is given; clusters in it must be deleted before its end."""
    packages = Store().provide(
        Recipe("test-systemd", f"{PACKAGES} {MASKED} 1", _build, estimate_seconds=10, what="systemd for tests"), Progress(None)
    )
    runc = max(store().glob("entries/runc-*/content/runc"), key=lambda path: path.stat().st_mtime)
    directory = Path(tempfile.mkdtemp(prefix="mk-booted-", dir="/var/tmp"))
    rootfs, memory = directory / "bundle/rootfs", directory / "memory"
    for place in (rootfs, memory, directory / "home"):
        place.mkdir(parents=True)
    machine = Booted(directory, runc)
    try:
        # Outside of the real root, which is a layer itself: no layer may lie in another.
        subprocess.run(["mount", "-t", "tmpfs", "none", str(memory)], check=True)
        shutil.copytree(packages, memory / "lower", symlinks=True)
        for name in ("upper", "work"):
            (memory / name).mkdir()
        layers = f"lowerdir={memory}/lower:/,upperdir={memory}/upper,workdir={memory}/work"
        subprocess.run(["mount", "-t", "overlay", "-o", layers, "booted", str(rootfs)], check=True)
        machine.boot()
        yield machine
    finally:
        machine.end()
        for place in (rootfs, memory):
            subprocess.run(["umount", "--lazy", str(place)], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(directory)], check=True)


def _build(target: Path, _progress: Progress) -> None:
    unpack(PACKAGES, target)
    for path in target.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o777)
    units = target / "etc/systemd/system"
    units.mkdir(parents=True, exist_ok=True)
    (units / "default.target").unlink(missing_ok=True)
    (units / "default.target").symlink_to("/lib/systemd/system/basic.target")
    for unit in MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
