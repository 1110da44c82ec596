"""An emulated machine: a kernel, a first process and control groups of its own. People log in by ssh; no way leads out of it."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.emulator import command, provide_emulator
from support.machinedisks import CARGO, load_cargo, provide_machine
from support.minikube import Answer, Place
from support.waiting import eventually

SLOWNESS = 15
HOMES = {"root": "/root", "dev": "/home/dev", "guest": "/home/guest"}


class VirtualMachine:
    """`root`, `dev` (may use sudo) and `guest` (may not) log in. Its disk outlives the plug being pulled."""

    def __init__(self, directory: Path, suite: str) -> None:
        self.directory, self.suite = directory, suite
        self.disk, self.cargo, self.key = directory / "disk", directory / "cargo", directory / "key"
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def install(self, *files: Path) -> None:
        """With this clone and some files on a disk of their own."""
        machine = provide_machine(self.suite)
        subprocess.run(["cp", "--sparse=always", str(machine / "disk"), str(self.disk)], check=True)
        for kind in ("vmlinuz", "initrd"):
            shutil.copyfile(machine / kind, self.directory / kind)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(self.key)], check=True)
        load_cargo(self.cargo, self.suite, self.key.with_name("key.pub"), *files)

    def boot(self, *, parameters: str = "", patience: float = 400) -> None:
        """Until somebody can log in."""
        self.port = _free_port()
        network = f"user,id=cable,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"
        options = f"root=/dev/vda rw console=ttyS0 net.ifnames=0 quiet {parameters}"
        argv = [
            "nice", "-n", "19", *command(provide_emulator()), "-machine", "q35", "-smp", "2", "-m", "6G", "-display", "none", "-no-reboot",
            "-kernel", str(self.directory / "vmlinuz"), "-initrd", str(self.directory / "initrd"), "-append", options,
            "-drive", f"file={self.disk},format=raw,if=virtio,cache=writeback",
            "-drive", f"file={self.cargo},format=raw,if=virtio,readonly=on",
            "-netdev", network, "-device", "virtio-net-pci,netdev=cable,romfile=", "-device", "virtio-rng-pci",
            "-serial", f"file:{self.directory / 'console'}", "-monitor", "none",
        ]  # fmt: skip
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        eventually(self._answers, seconds=patience, every=2)

    def _answers(self) -> bool:
        assert self.process
        if self.process.poll() is not None:
            raise RuntimeError(f"the emulator ended with {self.process.returncode}")
        return self.run("true", check=False).returncode == 0

    def pull_the_plug(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def wait_until_off(self, *, patience: float = 300) -> None:
        assert self.process
        self.process.wait(patience)
        self.process = None

    def enter(self, user: str = "root") -> list[str]:
        options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=60")
        asked = [f"-o{option}" for option in options]
        return ["ssh", "-F", "none", *asked, f"-i{self.key}", f"-p{self.port}", f"{user}@127.0.0.1"]

    def run(self, script: str, *, user: str = "root", check: bool = True, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        argv = [*self.enter(user), script]
        return subprocess.run(argv, capture_output=True, text=True, check=check, timeout=timeout, stdin=subprocess.DEVNULL)

    def say(self, script: str, *, user: str = "root") -> str:
        """What a command there writes; it must succeed."""
        return self.run(script, user=user).stdout.strip()


class Account(Place):
    """A place there: the home of one of its users, who logs in for every command."""

    def __init__(self, machine: VirtualMachine, user: str) -> None:
        super().__init__(machine.directory)
        self.machine, self.user = machine, user
        self.home_seen = f"{HOMES[user]}/.minikube"
        self.environment = dict(os.environ)

    def run(self, *words: str, input: bytes | str = b"", timeout: float = 120) -> Answer:
        """As slowly as an emulated processor is, on a machine that has other things to do as well."""
        return super().run(*words, input=input, timeout=timeout * SLOWNESS)

    def argv(self, words: Sequence[str]) -> list[str]:
        return [*self.machine.enter(self.user), shlex.join([f"{CARGO}/minikube/minikube", *words])]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
