"""The launcher's first run: a private Python environment with the project's dependencies, by hash. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

from minikube.host.pip import NoPip, install_command, why_pip_failed
from minikube.host.process import ProcessFailed, spawn
from minikube.output.visible import visible

_NO_NETWORK = 40
_NOT_FOUND = 35
_NOT_WRITABLE = 37


def main(lock: str, target: str) -> None:
    """Make the environment at `target`, unless another command just did; ends the process with a message if that fails."""
    try:
        _make(Path(lock), Path(target))
    except KeyboardInterrupt:
        _fail("Interrupted. The next command begins this again.", 11)
    except ProcessFailed as error:
        _fail(f"Python's package installer could not be run: {error}", _NOT_FOUND)
    except NoPip as error:
        _fail(str(error), _NOT_FOUND)
    except OSError as error:
        _fail(f"{target} cannot be made: {error.strerror}. Set MINIKUBE_STORE to a directory you may write to.", _NOT_WRITABLE)


def _make(packages: Path, target: Path) -> None:
    import fcntl

    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel gives it back however we end
        if os.access(target / "bin" / "python", os.X_OK):
            return
        for stale in target.parent.glob(".venv-*"):
            if stale.is_dir():
                shutil.rmtree(stale, ignore_errors=True)
        building = target.parent / f".{target.name}.{os.getpid()}"
        try:
            _install(packages, building)
            shutil.rmtree(target, ignore_errors=True)  # one whose Python has gone
            building.rename(target)
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _install(packages: Path, directory: Path) -> None:
    needed = [line.partition("==")[0] for line in packages.read_text(encoding="utf-8").splitlines() if line[:1].isalpha()]
    _say(f"* First run: installing {', '.join(needed)} for minikube, about half a minute ...")
    began = time.monotonic()
    # The exact Python, not the name that led to it: an upgrade then leaves a dead link, which the launcher notices.
    builder = venv.EnvBuilder(symlinks=True)
    sys._base_executable = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    builder.create(directory)
    code, output = _watch(install_command(directory / "bin" / "python", packages))
    if code != 0:
        if why := why_pip_failed(output):
            _fail(f"{why}. Nothing was installed. Check the mirror (PIP_INDEX_URL, pip.conf), or update minikube.", _NO_NETWORK)
        errors = [line for line in output if "error" in line.lower()][-3:] or output[-3:]
        _say("\n".join(f"  {visible(line)}" for line in errors))
        _fail(
            "The Python packages minikube needs could not be installed. Check the network and the proxy settings "
            "(HTTPS_PROXY, PIP_INDEX_URL), then run the command again.",
            _NO_NETWORK,
        )
    _say(f"* Installed in {time.monotonic() - began:.0f} s")


def _watch(argv: list[str]) -> tuple[int, list[str]]:
    """Run pip; on a terminal its last line shows what it is at."""
    process = spawn(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines: list[str] = []
    live = sys.stderr.isatty()
    assert process.stdout is not None  # noqa: S101 - asked for above
    for raw in process.stdout:
        lines.append(raw.decode(errors="replace").rstrip())
        if live:
            print(f"\r\033[K  {visible(lines[-1].strip())[:70]}", end="", file=sys.stderr, flush=True)
    if live:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return process.wait(), lines


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _fail(message: str, code: int) -> None:
    _say(f"X {visible(message)}")
    sys.exit(code)
