"""QEMU, from Debian's packages: unpacked into the store, never installed on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.debianpackages import unpack

from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

PACKAGE = "qemu-system-x86"
FIRMWARE = ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")


def provide_emulator() -> Path:
    """A tree with QEMU and every library of it that this machine lacks."""
    missing = tuple(sorted(_missing()))
    recipe = Recipe(
        "test-qemu", f"{missing} 1", lambda target, _progress: unpack(missing, target), estimate_seconds=30, what="QEMU for tests"
    )
    return Store().provide(recipe, Progress(None))


def command(emulator: Path) -> list[str]:
    libraries = emulator / "usr/lib/x86_64-linux-gnu"
    places = [word for place in FIRMWARE for word in ("-L", str(emulator / place))]
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(emulator / "usr/bin/qemu-system-x86_64"), *places, *acceleration()]


def acceleration() -> list[str]:
    """The processor's own virtualization where it has one and we may use it; else every instruction is translated, ten times slower."""
    flags = Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    if {"vmx", "svm"} & set(flags) and Path("/dev/kvm").exists():
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "max,la57=off"]


def _missing() -> set[str]:
    argv = ["apt-get", "install", "--simulate", "--no-install-recommends", PACKAGE]
    told = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return {line.split()[1] for line in told.splitlines() if line.startswith("Inst ")} | {PACKAGE}
