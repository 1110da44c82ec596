"""Commands around a running node: copying files, keys, environments, and a stop that is only planned."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

import pytest
from support.waiting import eventually

from e2e.conftest import Cluster

STREAMED = 40 << 20  # many times what a pipe holds


def test_files_are_copied_there_and_back_with_their_mode(cluster: Cluster, tmp_path: Path) -> None:
    original, back = tmp_path / "original", tmp_path / "back"
    original.write_bytes(secrets.token_bytes(1 << 20) * (STREAMED >> 20))
    original.chmod(0o751)
    assert cluster.ok("cp", str(original), "/var/tmp/new/copy") == ""
    assert cluster.ssh("stat -c '%a %s' /var/tmp/new/copy").split() == ["751", str(STREAMED)]
    cluster.ok("cp", f"{cluster.profile}:/var/tmp/new/copy", f"{cluster.profile}:/var/tmp/new/again")
    cluster.ok("cp", f"{cluster.profile}:/var/tmp/new/again", str(back))
    assert back.read_bytes() == original.read_bytes()
    assert back.stat().st_mode & 0o777 == 0o751
    assert cluster.ssh("ls -A /var/tmp/new").split() == ["again", "copy"]
    cluster.ssh("rm -r /var/tmp/new")


def test_a_directory_as_target_keeps_the_name(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "some name"
    file.write_text("words\n")
    cluster.ok("cp", str(file), f"{cluster.profile}:/tmp/")
    assert cluster.ssh("cat '/tmp/some name'") == "words\n"
    (tmp_path / "sub").mkdir()
    for target in (tmp_path / "sub", f"{tmp_path}/"):
        cluster.ok("cp", f"{cluster.profile}:/tmp/some name", str(target))
    assert (tmp_path / "sub" / "some name").read_text() == "words\n"
    assert cluster.ok("cp", f"{cluster.profile}:/tmp/some name", "/dev/stdout") == "words\n"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("/nope/nothing", "/x"), 35, "Cannot find /nope/nothing for copy"),
        (("NODE:/nope", "here"), 1, "getting file from"),
        (("other:/etc/hosts", "here"), 85, 'The node "other" does not exist'),
        (("/etc/hosts", "other:/x"), 85, 'The node "other" does not exist'),
        (("/etc", "/x"), 14, "/etc is a directory"),
        (("NODE:/etc", "here"), 14, "/etc is a directory"),
        (("/etc/hosts", "NODE:/proc/nothing/x"), 10, "Fail to copy file /etc/hosts"),
        (("NODE:/etc/hosts", "/proc/nothing/x"), 10, "Fail to copy file"),
        (("/etc/hosts",), 14, "Please specify the path to copy"),
    ],
)
def test_copies_that_cannot_be(cluster: Cluster, words: tuple[str, ...], code: int, sentence: str) -> None:
    answer = cluster.run("cp", *(word.replace("NODE", cluster.profile) for word in words))
    assert (answer.code, answer.stdout) == (code, "")
    assert sentence in answer.stderr


def test_processes_are_found_by_name(cluster: Cluster) -> None:
    """With pidof, which scripts and Kubernetes' own tests call on nodes."""
    assert cluster.ssh("pidof kubelet").strip().isdecimal()


def test_keys(cluster: Cluster) -> None:
    assert cluster.ok("ssh-key") == f"{cluster.machine}/id_rsa\n"
    assert cluster.run("ssh-key", "-n", "other").code == 85
    for flags in ((), ("--append-known",)):
        answer = cluster.run("ssh-host", *flags)
        assert (answer.code, answer.stdout) == (14, "")
        assert "'none' driver does not support 'minikube ssh-host' command" in answer.stderr


@pytest.mark.parametrize(("command", "runtime"), [("docker-env", "docker"), ("podman-env", "crio")])
def test_environments_need_their_runtime(cluster: Cluster, command: str, runtime: str) -> None:
    answer = cluster.run(command)
    assert (answer.code, answer.stdout) == (14, "false exit code 14\n")
    assert f'only compatible with the "{runtime}" runtime, but this cluster was configured to use the "containerd"' in answer.stderr


def test_a_stop_is_planned_replaced_and_cancelled(cluster: Cluster) -> None:
    profile = cluster.place.home / "profiles" / cluster.profile

    def waits(process: int) -> bool:
        try:
            return str(profile / "pid") in Path(f"/proc/{process}/cmdline").read_text()
        except OSError:
            return False

    cluster.ok("stop", "--schedule=5m")
    first = int((profile / "pid").read_text())
    assert waits(first)
    assert os.getsid(first) == first  # no shell takes it along
    cluster.ok("stop", "--schedule", "1h")
    second = int((profile / "pid").read_text())
    eventually(lambda: not waits(first))
    assert waits(second)
    assert json.loads((profile / "config.json").read_text())["ScheduledStop"]["Duration"] == 3600 * 10**9
    assert cluster.ok("status", "--format={{.TimeToStop}}").startswith("59m")
    assert cluster.ok("status").splitlines()[6].startswith("timeToStop: 59m")
    assert cluster.run("status", "-o", "json").json()["TimeToStop"].startswith("59m")
    assert cluster.run("status", "-o", "json", "-l", "cluster").json()["TimeToStop"].startswith("59m")

    assert cluster.ok("stop", "--cancel-scheduled") == "* All existing scheduled stops cancelled\n"
    eventually(lambda: not waits(second))
    assert not (profile / "pid").exists()
    assert json.loads((profile / "config.json").read_text())["ScheduledStop"] is None
    assert "TimeToStop" not in cluster.run("status", "-o", "json").json()
    (event,) = map(json.loads, cluster.ok("stop", "--cancel-scheduled", "-o", "json").splitlines())
    assert event["data"] == {
        "currentstep": "2", "totalsteps": "2", "name": "Done", "message": "All existing scheduled stops cancelled",
    }  # fmt: skip


def test_somebody_elses_process_is_not_ended(cluster: Cluster) -> None:
    """Numbers of processes are used again: the one in the file may be anybody's by now."""
    file = cluster.place.home / "profiles" / cluster.profile / "pid"
    file.write_text(str(os.getpid()))
    cluster.ok("stop", "--cancel-scheduled")
    assert not file.exists()


def test_a_stop_cannot_be_planned_for_yesterday(cluster: Cluster) -> None:
    assert cluster.run("stop", "--schedule=-5m").code == 14
