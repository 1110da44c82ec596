"""A user whose sudo asks for a password: it is asked for once, on the terminal, and what goes wrong has a reason."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.host import processes
from support.minikube import Minikube
from support.people import PASSWORD, Somebody, people
from support.terminal import Terminal
from support.waiting import eventually

PROMPT = r"\[sudo\] password for typist: "


@pytest.fixture(scope="module")
def typist(node_image: Path) -> Iterator[Somebody]:
    with tempfile.TemporaryDirectory(prefix="mk-people-", dir="/var/tmp") as directory, people(Path(directory)) as users:
        yield users["typist"]
        # Every way out leads through sudo, which the tests are about: whatever they left is removed by root.
        root = users["typist"].enter()[: users["typist"].enter().index("setpriv")]
        argv = [*root, *users["typist"].program(), "delete", "--all", "--purge"]
        done = subprocess.run(argv, env=users["typist"].environment, capture_output=True, text=True, timeout=180, check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", f"{directory}/home/typist"], check=True)
        assert done.returncode == 0, done


def type_in(typist: Somebody, *words: str, answers: tuple[str, ...] = (PASSWORD,), seconds: float = 120) -> tuple[int, str]:
    """Exit code and everything that was on the terminal."""
    with Terminal(typist.argv(words), typist.environment, rows=40, columns=200) as terminal:
        for number, answer in enumerate(answers, start=1):
            terminal.read_until(rf"(?s)({PROMPT}.*){{{number}}}")
            terminal.type(f"{answer}\n")
        return terminal.exit_code(seconds=seconds), terminal.shown


def forget(typist: Somebody) -> None:
    """sudo remembers for a terminal and some minutes who has given the password; another terminal may get the same name."""
    subprocess.run([*typist.enter(), "sudo", "-K"], env=typist.environment, check=True)


def test_a_wrong_password_is_a_reason(typist: Somebody) -> None:
    code, shown = type_in(typist, "start", answers=("wrong", "wrong again", "wrong still"))
    assert code == 57, shown
    assert "DRV_NEEDS_ROOT" in shown
    assert "sudo did not give them to you" in shown
    assert "Traceback" not in shown
    assert not (typist.home / "profiles").exists()


def test_without_a_terminal_there_is_nobody_to_ask(typist: Somebody) -> None:
    answer = typist.run("start")
    assert answer.code == 57, answer
    assert "password" in answer.stderr


def test_what_was_killed_as_root_is_the_users_to_see_and_delete(typist: Somebody) -> None:
    cluster = Minikube(typist, "minikube")
    typist.environment["MINIKUBE_DIE_AT"] = "start the node:after"
    code, shown = type_in(typist, "start")
    del typist.environment["MINIKUBE_DIE_AT"]
    assert code in (-9, 137), shown  # how sudo passes it on depends on its version
    assert processes(cluster) != []
    assert "host: Running" in cluster.run("status").stdout
    assert cluster.run("profile", "list").code == 0
    forget(typist)
    code, shown = type_in(typist, "delete")
    assert code == 0, shown
    eventually(lambda: processes(cluster) == [])
    assert list((typist.home / "machines").iterdir()) == []


def test_the_right_password_is_asked_for_once(typist: Somebody) -> None:
    cluster = Minikube(typist, "minikube")
    forget(typist)
    code, shown = type_in(typist, "start", seconds=200)
    assert code == 0, shown
    assert len(re.findall(PROMPT, shown)) == 1
    assert PASSWORD not in shown
    assert "Ready" in cluster.kubectl("get", "nodes")
    assert [str(path) for path in typist.home.glob("*") if path.lstat().st_uid != typist.uid] == []
    assert typist.kubeconfig.stat().st_uid == typist.uid
