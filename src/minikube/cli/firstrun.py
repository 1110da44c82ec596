"""The launcher's first run: a private Python environment with the project's dependencies. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

from minikube.host.process import ProcessFailed, spawn

_NO_NETWORK = 40
_NOT_FOUND = 35
_NOT_WRITABLE = 37


def main(project: str, target: str) -> None:
    """Make the environment at `target`, unless another command just did; ends the process with a message if that fails."""
    try:
        _make(Path(project), Path(target))
    except KeyboardInterrupt:
        _fail("Interrupted. The next command begins this again.", 11)
    except ProcessFailed as error:
        _fail(f"Python's package installer could not be run: {error}", _NOT_FOUND)
    except OSError as error:
        _fail(f"{target} cannot be made: {error.strerror}. Set MINIKUBE_STORE to a directory you may write to.", _NOT_WRITABLE)


def _make(project: Path, target: Path) -> None:
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
            _install(project, building)
            shutil.rmtree(target, ignore_errors=True)  # one whose Python has gone
            building.rename(target)
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _install(project: Path, directory: Path) -> None:
    import tomllib

    needed = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    _say(f"* First run: installing {', '.join(_name(line) for line in needed)} for minikube, about half a minute ...")
    began = time.monotonic()
    # The exact Python, not the name that led to it: an upgrade then leaves a dead link, which the launcher notices.
    builder = venv.EnvBuilder(symlinks=True)
    sys._base_executable = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    builder.create(directory)
    python = directory / "bin" / "python"
    options = [
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--no-warn-script-location",
        "--retries",
        "2",
        "--progress-bar",
        "off",
    ]
    code, output = _watch([*_pip(python), *options, *needed])
    if code != 0:
        errors = [line for line in output if "error" in line.lower()][-3:] or output[-3:]
        _say("\n".join(f"  {line}" for line in errors))
        _fail(
            "The Python packages minikube needs could not be installed. Check the network and the proxy settings "
            "(HTTPS_PROXY, PIP_INDEX_URL), then run the command again.",
            _NO_NETWORK,
        )
    _say(f"* Installed in {time.monotonic() - began:.0f} s")


def _pip(python: Path) -> list[str]:
    """pip as it comes with Python, run from its wheel; else the pip of the machine; Debian has neither without a package."""
    import importlib.util

    places = [Path("/usr/share/python-wheels")]
    bundled = importlib.util.find_spec("ensurepip")
    if bundled and bundled.origin:
        places.insert(0, Path(bundled.origin).parent / "_bundled")
    for place in places:
        for wheel in sorted(place.glob("pip-*.whl"), reverse=True):
            return [str(python), str(wheel / "pip")]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(python)]
    _fail("This Python has no pip to install packages with. On Debian or Ubuntu: apt-get install python3-venv", _NOT_FOUND)
    return []


def _watch(argv: list[str]) -> tuple[int, list[str]]:
    """Run pip; on a terminal its last line shows what it is at."""
    process = spawn(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines: list[str] = []
    live = sys.stderr.isatty()
    assert process.stdout is not None  # noqa: S101 - asked for above
    for raw in process.stdout:
        lines.append(raw.decode(errors="replace").rstrip())
        if live:
            print(f"\r\033[K  {lines[-1].strip()[:70]}", end="", file=sys.stderr, flush=True)
    if live:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return process.wait(), lines


def _name(requirement: str) -> str:
    for index, character in enumerate(requirement):
        if not (character.isalnum() or character in "-_."):
            return requirement[:index]
    return requirement


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _fail(message: str, code: int) -> None:
    _say(f"X {message}")
    sys.exit(code)
