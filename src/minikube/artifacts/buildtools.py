"""Debian packages that building needs on this machine: a compiler, headers, mmdebstrap. Running a cluster needs none of them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from minikube.host.process import Completed, ProcessFailed, run
from minikube.output.progress import Progress
from minikube.output.reason import Reason

# By what a package is recognised: looking is quicker than asking dpkg, and holds for tools that did not come from a package.
_SIGNS = {
    "gcc": ("gcc",),
    "libc6-dev": ("/usr/include/stdio.h",),
    "libseccomp-dev": ("/usr/include/seccomp.h",),
    "pkg-config": ("pkg-config",),
    "mmdebstrap": ("mmdebstrap",),
}
_LISTS = Path("/var/lib/apt/lists")
_STALE_AFTER = 7 * 24 * 3600


def missing_packages(wanted: Iterable[str]) -> list[str]:
    """Which of the Debian packages are not here."""
    return [package for package in dict.fromkeys(wanted) if not all(_present(sign) for sign in _SIGNS.get(package, (package,)))]


def check_installable(packages: list[str]) -> None:
    """Refuse at once, with the command to run, what could only fail minutes later."""
    if not packages:
        return
    names = " ".join(packages)
    if not shutil.which("apt-get"):
        raise Reason(
            "NOT_FOUND_BUILD_TOOLS",
            f"Components are built on this machine, which needs: {names}. There is no apt-get here to install them with.",
            advice="Install what these Debian packages contain with this system's own package manager, then run the command again.",
            exit_code=15,
        )
    if os.geteuid() != 0 and not _sudo_works():
        raise Reason(
            "NOT_FOUND_BUILD_TOOLS",
            f"Components are built on this machine, which needs the Debian packages {names}; installing them needs root.",
            advice=f"Run: sudo apt-get install --no-install-recommends {names}",
            exit_code=15,
        )


def install_packages(packages: list[str], progress: Progress) -> None:
    """Install them, after saying so."""
    if not packages:
        return
    check_installable(packages)
    progress.say(f"Installing Debian packages {', '.join(packages)}: only to build components, nothing runs from them")
    with progress.task("Debian packages for building", len(packages), "packages", expected_seconds=20) as task:
        try:
            if _lists_are_old():
                task.note("updating package lists")
                _apt("update")
            task.note("installing")
            try:
                _apt("install", "-y", "--no-install-recommends", *packages)
            except ProcessFailed:
                # Lists that look fresh can still name versions the mirror has replaced.
                _apt("update")
                _apt("install", "-y", "--no-install-recommends", *packages)
        except ProcessFailed as error:
            raise _why_apt_failed(packages, error) from error
        task.set(len(packages))


def _apt(*arguments: str) -> Completed:
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    # Another apt (unattended upgrades after boot) holds the lock for a while: wait for it instead of failing.
    options = ["-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2"]
    return run([*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *options, *arguments])


def _why_apt_failed(packages: list[str], error: ProcessFailed) -> Reason:
    last = next((line for line in reversed(error.output.splitlines()) if line.startswith("E:")), error.output.strip()[-300:])
    if "No space left" in error.output or "don't have enough free space" in error.output:
        return Reason("RSRC_INSUFFICIENT_STORAGE", f"Debian packages could not be installed: {last}")
    return Reason(
        "NOT_FOUND_BUILD_TOOLS",
        f"The Debian packages {' '.join(packages)} could not be installed: {last}",
        advice=f"Run it by hand to see all of it: apt-get update && apt-get install --no-install-recommends {' '.join(packages)}",
        exit_code=15,
    )


def _present(sign: str) -> bool:
    return Path(sign).exists() if sign.startswith("/") else shutil.which(sign) is not None


def _sudo_works() -> bool:
    return shutil.which("sudo") is not None and run(["sudo", "-n", "true"], check=False).code == 0


def _lists_are_old() -> bool:
    newest = max((path.stat().st_mtime for path in _LISTS.glob("*_Packages*")), default=0.0)
    return time.time() - newest > _STALE_AFTER
