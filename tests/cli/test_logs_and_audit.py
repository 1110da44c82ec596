"""The audit log, the log of the last start, and where details are written to: through the program, without a cluster."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import PROGRAM, Program
from support.waiting import eventually

from minikube import __version__


def rows(minikube: Program) -> list[dict[str, dict[str, str]]]:
    return [json.loads(line) for line in (minikube.home / "logs/audit.json").read_text().splitlines()]


def test_a_row_for_each_command(minikube: Program) -> None:
    minikube("config", "set", "memory", "4g", "--user=somebody")
    minikube("ip", "-p", "nowhere")
    minikube("version")
    minikube("config", "view", "--skip-audit")
    first, second = rows(minikube)
    assert set(first) == {"specversion", "id", "source", "type", "datacontenttype", "data"}
    assert first["type"] == "io.k8s.sigs.minikube.audit"
    assert set(first["data"]) == {"args", "command", "endTime", "id", "profile", "startTime", "user", "version"}
    assert first["data"]["command"] == "config"
    assert first["data"]["args"] == "set memory 4g --user=somebody"
    assert (first["data"]["user"], first["data"]["version"]) == ("somebody", f"v{__version__}")
    assert (second["data"]["command"], second["data"]["profile"]) == ("ip", "nowhere")


@pytest.mark.skipif(os.geteuid() != 0, reason="others may become root through sudo first")
def test_a_command_that_is_killed_has_a_row_without_an_end(minikube: Program) -> None:
    lock = minikube.home / "locks/minikube.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        argv = [sys.executable, "-s", "-E", str(PROGRAM), "start", "--driver=native"]
        with subprocess.Popen(argv, env=minikube.environment, stdout=subprocess.DEVNULL) as process:
            eventually(lambda: rows(minikube))
            process.kill()
    minikube("delete")
    killed, deleted = rows(minikube)
    assert (killed["data"]["command"], killed["data"]["endTime"]) == ("start", "")
    assert (deleted["data"]["command"], deleted["data"]["endTime"] >= deleted["data"]["startTime"]) == ("delete", True)


def test_the_audit_log_stays_short(minikube: Program) -> None:
    minikube("config", "set", "MaxAuditEntries", "3")
    for number in range(6):
        minikube.inside("config", "get", f"key{number}" + "x" * 400)
    assert len(rows(minikube)) == 3


def test_the_audit_log_as_a_table(minikube: Program) -> None:
    minikube("config", "set", "memory", "4g")
    with (minikube.home / "logs/audit.json").open("a") as stream:
        stream.write("torn\n")
    lines = minikube("logs", "--audit").stdout.splitlines()
    assert lines[0] == "==> Audit <=="
    assert [cell.strip() for cell in lines[2].strip("│").split("│")] == [
        "COMMAND", "ARGS", "PROFILE", "USER", "VERSION", "START TIME", "END TIME",
    ]  # fmt: skip
    assert "set memory 4g" in lines[4]
    assert "torn" in lines
    assert minikube("logs", "--audit", "-n", "0").stdout == "==> Audit <==\n\n"


def test_last_start_only(minikube: Program) -> None:
    file = minikube.home / "logs/lastStart.txt"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"line {number}\n" for number in range(100)))
    assert minikube("logs", "--last-start-only").stdout == "==> Last Start <==\n" + file.read_text() + "\n"
    minikube("start", "--driver=nonsense")
    text = file.read_text()
    assert "line 1" not in text
    assert "nonsense" in text


def test_into_a_file(minikube: Program, tmp_path: Path) -> None:
    minikube("config", "set", "memory", "4g")
    done = minikube("logs", "--audit", f"--file={tmp_path}/logs.txt")
    assert "Logs were written to" in done.stdout
    assert "==> Audit <==" in (tmp_path / "logs.txt").read_text()
    assert minikube("logs", "--audit", "--file=/nowhere/logs.txt").returncode == 30
    assert minikube("logs", "--length=-1").returncode == 14
    assert minikube("logs").returncode == 85


@pytest.mark.parametrize("before", [True, False])
def test_log_file_and_log_dir(minikube: Program, tmp_path: Path, before: bool) -> None:
    def run(flag: str) -> None:
        minikube(*([flag, "start"] if before else ["start", flag]), "--driver=nonsense")

    run(f"--log_file={tmp_path}/details")
    run(f"--log_dir={tmp_path}/details.d")
    (inside,) = (tmp_path / "details.d").iterdir()
    for file in (tmp_path / "details", inside):
        assert "nonsense" in file.read_text()
    assert inside.name.startswith("minikube_start_")
    assert not (minikube.home / "logs/lastStart.txt").exists()


def test_details_on_stderr(minikube: Program) -> None:
    assert "error: DRV_UNSUPPORTED" in minikube("start", "--driver=nonsense", "--alsologtostderr", "-v=8").stderr
    assert "error: DRV_UNSUPPORTED" in minikube("start", "--driver=nonsense", MINIKUBE_ALSOLOGTOSTDERR="true").stderr
    assert "error: DRV_UNSUPPORTED" not in minikube("start", "--driver=nonsense").stderr


def args(minikube: Program) -> list[str]:
    return [row["data"]["args"] for row in rows(minikube)]


def test_the_audit_log_has_no_secrets(minikube: Program) -> None:
    minikube("start", "--driver=nonsense", "--docker-env=API_KEY=s3cret", "--extra-config", "apiserver.admin-token=s3cret")
    minikube("start", "--driver=nonsense", "--registry-mirror=https://me:s3cret@mirror.test", "--docker-env", "X=s3cret")
    minikube("ssh", "-p", "demo", "--", "echo", "s3cret", "password")
    minikube("ssh", "echo s3cret")
    minikube("kubectl", "--", "create", "secret", "generic", "x", "--from-literal=password=s3cret")
    assert "s3cret" not in (minikube.home / "logs/audit.json").read_text()
    assert "s3cret" not in (minikube.home / "logs/lastStart.txt").read_text()
    assert args(minikube) == [
        "--driver=nonsense --docker-env=API_KEY=xxxxx --extra-config apiserver.admin-token=xxxxx",
        "--driver=nonsense --registry-mirror=https://xxxxx@mirror.test --docker-env X=xxxxx",
        "-p demo -- echo ...",
        "-- echo ...",
        "-- create ...",
    ]
    assert "create ..." in minikube("logs", "--audit").stdout


@pytest.mark.parametrize("before", [True, False], ids=["made by an older version", "new"])
def test_logs_are_for_their_owner_alone(minikube: Program, before: bool) -> None:
    logs = minikube.home / "logs"
    if before:
        logs.mkdir(parents=True)
        logs.chmod(0o755)
        for name in ("audit.json", "lastStart.txt"):
            (logs / name).write_text("")
            (logs / name).chmod(0o644)
    minikube("start", "--driver=nonsense")
    assert {path.name: path.stat().st_mode & 0o777 for path in (logs, *logs.iterdir())} == {
        "logs": 0o700,
        "audit.json": 0o600,
        "lastStart.txt": 0o600,
    }


def test_a_shortened_audit_log_is_for_its_owner_alone(minikube: Program) -> None:
    minikube("config", "set", "MaxAuditEntries", "1")
    minikube("config", "get", "x" * 500)
    assert len(rows(minikube)) == 1
    assert (minikube.home / "logs/audit.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["link", "pipe", "second name"])
def test_logs_are_not_written_through_links_and_pipes(minikube: Program, tmp_path: Path, kind: str) -> None:
    if kind == "second name" and os.geteuid() != 0:
        pytest.skip("who is not root writes to own files only")
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    (minikube.home / "logs").mkdir(parents=True)
    for name in ("audit.json", "lastStart.txt"):
        place = minikube.home / "logs" / name
        if kind == "link":
            place.symlink_to(victim)
        elif kind == "second name":
            place.hardlink_to(victim)
        else:
            os.mkfifo(place)
    minikube("config", "set", "memory", "4g")
    minikube("start", "--driver=nonsense")
    assert victim.read_text() == "as it was"


def test_terminal_escapes_in_a_log_are_shown(minikube: Program, tmp_path: Path) -> None:
    file = minikube.home / "logs/lastStart.txt"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"node: \x1b]0;owned\x07 \xc2\x9b2J \x9b\n")
    shown = minikube("logs", "--last-start-only").stdout
    minikube("logs", "--last-start-only", f"--file={tmp_path}/logs.txt")
    assert "node: \\u001b]0;owned\\u0007 \\u009b2J \ufffd\n" in shown
    assert (tmp_path / "logs.txt").read_text() == shown
