"""The tutorial on drivers: its code is the example package, and the example package keeps the contract."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.installing import install
from support.minikube import CLONE

PAGE = CLONE / "docs/how-to/write-a-driver.md"
EXAMPLE = CLONE / "examples/minikube-driver-example"


def files_in_page() -> dict[str, str]:
    """The blocks that name a file, put together in the order of the page."""
    files: dict[str, list[str]] = {}
    for name, code in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE.read_text(), flags=re.S | re.M):
        files.setdefault(name, []).append(code)
    return {name: "".join(blocks) for name, blocks in files.items()}


def environment(tmp_path: Path) -> dict[str, str]:
    """Where the package is written from the page alone, and installed."""
    for name, code in files_in_page().items():
        target = tmp_path / "project" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(code)
    install(tmp_path / "project", tmp_path / "installed")
    path = os.pathsep.join([str(CLONE / "src"), str(tmp_path / "installed")])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "MINIKUBE_HOME": str(tmp_path / "home")}


def test_the_page_has_the_whole_example_and_nothing_else() -> None:
    there = {str(file.relative_to(EXAMPLE)): file.read_text() for file in EXAMPLE.rglob("*") if file.is_file() and file.suffix != ".pyc"}
    page = files_in_page()
    assert sorted(page) == sorted(there)
    for name, code in page.items():
        # Blank lines at the seams of two blocks are lost in a page.
        assert [line for line in code.splitlines() if line] == [line for line in there[name].splitlines() if line], name


def test_what_the_page_builds_is_a_driver_like_any_other(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "minikube", "drivers", "-o", "json"]
    done = subprocess.run(argv, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=True)
    import json

    found = {driver["name"]: driver for driver in json.loads(done.stdout)}
    assert found["example"]["origin"] == "package minikube-driver-example"
    assert (found["example"]["builtIn"], found["example"]["chosenByItself"], found["none"]["builtIn"]) == (False, False, True)


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0, reason="making namespaces needs root")
def test_what_the_page_builds_keeps_the_contract(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "minikube.testing.plugin", "-p", "no:cacheprovider"]
    argv += ["--pyargs", "minikube.testing.driver_contract", "--driver=example", "--driver-flag=example-motd=hello"]
    done = subprocess.run(argv, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
