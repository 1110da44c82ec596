"""The launcher: found through links, from anywhere, and honest where it cannot work."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.packageindex import tampered_index

from minikube import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone below a path with spaces, without its history."""
    place = tmp_path / "a clone"
    place.mkdir()
    for name in ("minikube", "requirements.lock"):
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__", "wrappers"))
    return place


def run(launcher: Path | str, *words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "HOME": str(cwd), "MINIKUBE_STORE": str(cwd / "the store"), "MINIKUBE_HOME": str(cwd)}
    return subprocess.run([str(launcher), *words], env=base | environment, cwd=cwd, capture_output=True, text=True, check=False)


def test_no_network_is_a_sentence_and_leaves_nothing_half_done(clone: Path, tmp_path: Path) -> None:
    done = run(clone / "minikube", "version", cwd=tmp_path, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0", PIP_NO_CACHE_DIR="1")
    assert done.returncode == 40, done.stderr
    assert "X The Python packages minikube needs could not be installed." in done.stderr
    assert done.stdout == ""
    assert not [path.name for path in (tmp_path / "the store").iterdir() if "venv-" in path.name]


def test_no_python_is_a_sentence(clone: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cksum", "readlink"):
        (tools / name).symlink_to(shutil.which(name) or "/bin/sh")
    done = run(clone / "minikube", "version", cwd=tmp_path, PATH=str(tools))
    assert done.returncode == 36
    assert "Python 3.11 or newer" in done.stderr
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tools / "python3").chmod(0o755)
    assert run(clone / "minikube", "version", cwd=tmp_path, PATH=str(tools)).returncode == 36


def test_an_unwritable_store_is_a_sentence(clone: Path, tmp_path: Path) -> None:
    done = run(clone / "minikube", "version", cwd=tmp_path, MINIKUBE_STORE="/proc/nothing")
    assert done.returncode == 37
    assert "Set MINIKUBE_STORE" in done.stderr


def test_links_working_directories_and_being_called_kubectl(clone: Path, tmp_path: Path) -> None:
    ready = tmp_path / "the store"
    sum_ = subprocess.run(["cksum"], stdin=(clone / "requirements.lock").open(), capture_output=True, text=True, check=True).stdout.split()[
        0
    ]
    python = ready / f"venv-{sum_}" / "bin" / "python"
    python.parent.mkdir(parents=True)
    import sys

    python.symlink_to(sys.executable)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mk").symlink_to("../a clone/minikube")
    (tmp_path / "bin" / "kubectl").symlink_to(tmp_path / "bin" / "mk")
    version = f"v{__version__}\n"
    assert run(clone / "minikube", "version", "--short", cwd=tmp_path).stdout == version
    assert run("bin/mk", "version", "--short", cwd=tmp_path).stdout == version
    assert run("./minikube", "version", "--short", cwd=clone, MINIKUBE_STORE=str(ready)).stdout == version
    assert run("mk", "version", "--short", cwd=tmp_path, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}").returncode == 0
    done = run(tmp_path / "bin" / "kubectl", "get", "pods", "--context=elsewhere", cwd=tmp_path)
    assert done.returncode == 85
    assert '"elsewhere" not found' in done.stdout


def test_an_index_with_another_file_is_refused_by_name(clone: Path, tmp_path: Path) -> None:
    with tampered_index(tmp_path / "index", clone / "requirements.lock") as url:
        done = run(clone / "minikube", "version", cwd=tmp_path, PIP_INDEX_URL=url, PIP_NO_CACHE_DIR="1", PIP_CONFIG_FILE="/dev/null")
    assert done.returncode == 40, done.stderr
    assert "X The package index offers another file for cffi==" in done.stderr
    assert "Nothing was installed." in done.stderr
    assert "s3cret" not in done.stderr
    assert not [path.name for path in (tmp_path / "the store").iterdir() if "venv-" in path.name]


@pytest.mark.build
def test_two_first_runs_at_once(clone: Path, tmp_path: Path) -> None:
    base = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MINIKUBE_STORE": str(tmp_path / "the store")}
    argv = [str(clone / "minikube"), "version", "--short"]
    both = [subprocess.Popen(argv, env=os.environ | base, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate() for process in both]
    assert [out for out, _ in answers] == [f"v{__version__}\n"] * 2
    assert sum("First run" in err for _, err in answers) == 1
    assert len(list((tmp_path / "the store").glob("venv-*"))) == 1
