"""Completion, through the program and through real shells."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import PROGRAM, Program
from support.shells import shell_argv
from support.terminal import Terminal
from support.waiting import eventually

from minikube.cli.completer import candidates


def test_words() -> None:
    assert candidates(["sta"]) == ["start", "status"]
    assert candidates(["config", ""]) == ["defaults", "get", "set", "unset", "view"]
    assert candidates(["config", "set", "mem"]) == ["memory"]
    assert candidates(["start", "--dri"]) == ["--driver"]
    assert candidates(["start", "--driver", "na"]) == ["native"]
    assert candidates(["start", "--driver=na"]) == ["--driver=native"]
    assert candidates(["start", "--wait=kubelet,def"]) == ["--wait=kubelet,default_sa"]
    assert candidates(["-p", "x", "prof"]) == ["profile"]
    assert candidates(["kubectl", "--", "get", ""]) == []
    assert "--vm-driver" not in candidates(["start", "--"])


def test_profiles(minikube: Program) -> None:
    minikube.add_profile("second")
    assert minikube("__complete", "--", "status", "-p", "se").stdout == "second\n"
    assert minikube("__complete", "--", "profile", "").stdout == "list\nsecond\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_scripts(minikube: Program, shell: str) -> None:
    assert "__complete" in minikube("completion", shell).stdout
    assert minikube("completion", "tcsh").returncode == 14
    assert minikube("completion").returncode == 14


def test_powershell(minikube: Program) -> None:
    """There is none to ask here: its script has pairs of brackets and quotes, and the words it sends get the answers it expects."""
    script = minikube("completion", "powershell").stdout
    code = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
    texts = re.compile(r"'[^']*'" + r'|"[^"]*"')
    stack = []
    for sign in texts.sub("", code):
        if sign in "({[":
            stack.append(sign)
        elif sign in ")}]":
            assert stack.pop() + sign in ("()", "{}", "[]")
    assert stack == []
    assert not set("'\"") & set(texts.sub("", code))
    assert code.splitlines()[0] == "Register-ArgumentCompleter -Native -CommandName minikube -ScriptBlock {"
    assert "& $words[0] __complete -- @before 2>$null" in code
    assert minikube("__complete", "--", "config", '""').stdout == minikube("__complete", "--", "config", "").stdout != ""


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize(
    ("words", "answers"),
    [(["sta"], ["start", "status"]), (["start", "--driver", "=", "na"], ["native"]), (["start", "--output", "="], ["json", "text"])],
)
def test_bash_itself(minikube: Program, words: list[str], answers: list[str]) -> None:
    script = minikube("completion", "bash").stdout
    line = " ".join(f"'{word}'" for word in words)
    script += f'\nminikube() {{ {sys.executable} -s -E {PROGRAM} "$@"; }}\ncommand() {{ "$@"; }}\n'
    script += f'COMP_WORDS=(minikube {line}); COMP_CWORD={len(words)}; _minikube_complete; printf "%s\\n" "${{COMPREPLY[@]}}"\n'
    done = subprocess.run(["bash", "-c", script], env=minikube.environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == answers, done.stderr


@pytest.fixture
def called_minikube(minikube: Program, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has `minikube` on the PATH, and two profiles."""
    minikube.add_profile("second")
    minikube.add_profile("third")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/minikube"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -s -E {PROGRAM} "$@"\n')
    program.chmod(0o755)
    (tmp_path / "some-file.txt").touch()
    return minikube.environment | {"PATH": f"{tmp_path}/bin:{minikube.environment['PATH']}", "MINIKUBE_PROFILE": "second"}


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a mount of its own needs root")


@pytest.mark.cluster
@needs_root
def test_fish_itself(called_minikube: dict[str, str], tmp_path: Path) -> None:
    asked = {
        "sta": ["start", "status"],
        "start --driver=na": ["--driver=native"],
        "ssh -n ": ["second"],
        "status -p ": ["second", "third"],
        "addons enable ingress": ["ingress", "ingress-dns"],
        "cp some": ["some-file.txt"],
    }
    script = "minikube completion fish | source; " + "; echo; ".join(f"complete -C 'minikube {line}'" for line in asked)
    argv = shell_argv("fish", "--no-config", "-c", script)
    done = subprocess.run(argv, env=called_minikube, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [answers.split() for answers in done.stdout.split("\n\n")] == list(asked.values()), done.stderr


@pytest.mark.cluster
@needs_root
def test_zsh_itself(called_minikube: dict[str, str], tmp_path: Path) -> None:
    """With somebody who presses Tab; Ctrl-X Ctrl-Y puts the line where it can be read."""
    environment = called_minikube | {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    line = tmp_path / "line"
    with Terminal(shell_argv("zsh", "-f", "-i"), environment, rows=50, columns=200) as zsh:
        zsh.type(f"cd {tmp_path}; keep() {{ print -r -- $BUFFER > {line}.new; mv {line}.new {line} }}; zle -N keep; bindkey '^Xy' keep\r")
        zsh.type("autoload -U compinit; compinit -u -D; source <(minikube completion zsh); echo rea''dy\r")
        zsh.read_until("ready")
        for typed, completed in {
            "minikube stat": "minikube status",
            "minikube start --dri": "minikube start --driver",
            "minikube start --driver=nati": "minikube start --driver=native",
            "minikube status -p thi": "minikube status -p third",
            "minikube addons enable volum": "minikube addons enable volumesnapshots",
            "minikube ssh -n ": "minikube ssh -n second",
            "minikube cp some": "minikube cp some-file.txt",
        }.items():
            zsh.type(f"\x15{typed}\t\x18y")
            assert eventually(lambda: line.exists() and line.read_text()).strip() == completed, zsh.shown
            line.unlink()


def test_nodes_addons_and_keys(minikube: Program) -> None:
    minikube.add_profile("second")
    assert minikube("__complete", "--", "ssh", "-p", "second", "--node=").stdout == "--node=second\n"
    assert minikube("__complete", "--", "logs", "--node", "", MINIKUBE_PROFILE="second").stdout == "second\n"
    assert minikube("__complete", "--", "ip", "-n", "").stdout == ""
    assert candidates(["addons", "disable", "volum"]) == ["volumesnapshots"]
    assert candidates(["addons", "list", ""]) == []
    assert candidates(["start", "--addons", "ingress,reg"]) == ["ingress,registry", "ingress,registry-aliases", "ingress,registry-creds"]
    assert candidates(["config", "unset", "Want"]) == [
        "WantBetaUpdateNotification", "WantNoneDriverWarning", "WantUpdateNotification", "WantVirtualBoxDriverWarning",
    ]  # fmt: skip
    assert candidates(["start", "--kubernetes-version=sta"]) == ["--kubernetes-version=stable"]
    assert candidates(["logs", "--follow="]) == ["--follow=false", "--follow=true"]
