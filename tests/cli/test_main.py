"""Every way a command can end, from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import PROGRAM, Program

from minikube import __version__
from minikube.cli.commands import COMMANDS
from minikube.cli.unbuilt import every_command, unbuilt_commands


def test_without_words_it_helps(minikube: Program) -> None:
    done = minikube()
    assert done.returncode == 0
    assert all(f"  {name} " in done.stdout for name, (group, _, _) in COMMANDS.items() if group)


@pytest.mark.parametrize("words", [["version", "--short"], ["--short", "version"], ["version", "--short", "--alsologtostderr", "-v=3"]])
def test_version_short(minikube: Program, words: list[str]) -> None:
    done = minikube(*words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"v{__version__}\n", "")
    assert not minikube.home.exists()


def test_version_formats(minikube: Program) -> None:
    assert minikube("version").stdout == f"minikube version: v{__version__}\n"
    assert json.loads(minikube("version", "-o", "json").stdout)["minikubeVersion"] == f"v{__version__}"
    assert f'minikubeVersion: "v{__version__}"' in minikube("version", "-o", "yaml").stdout
    assert minikube("version", "-o", "xml").returncode == 14


def test_unknown_words(minikube: Program) -> None:
    done = minikube("strat")
    assert (done.returncode, done.stdout) == (14, "")
    expected = 'Error: unknown command "strat" for "minikube"\n\nDid you mean this?\n\tstart\n\nRun \'minikube --help\' for usage.\n'
    assert done.stderr == expected
    assert minikube("help", "strat").stderr == expected
    done = minikube("start", "--dryrun")
    assert (done.returncode, done.stdout) == (14, "")
    assert done.stderr == "Error: unknown flag: --dryrun\n\nDid you mean this?\n\t--dry-run\n\nSee 'minikube start --help' for usage.\n"


def test_a_version_flag_leads_to_the_command(minikube: Program) -> None:
    done = minikube("--version")
    assert (done.returncode, done.stdout) == (14, "")
    assert "Did you mean this?\n\tminikube version\n" in done.stderr


@pytest.mark.parametrize("words", [["version"], ["options"], ["version", "-o", "json"]])
def test_output_that_cannot_be_written_is_an_error_without_a_traceback(minikube: Program, words: list[str]) -> None:
    command = [sys.executable, "-s", "-E", str(PROGRAM), *words]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, env=minikube.environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 30
    assert done.stderr.strip() == "X Exiting due to HOST_PATH_STAT: standard output cannot be written: No space left on device"


@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), (">&- 2>&-", 0), ("<&- >&- 2>&-", 0)])
def test_closed_streams_are_no_error(minikube: Program, closed: str, code: int) -> None:
    command = f'exec "$0" -s -E "$1" version {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(PROGRAM)], env=minikube.environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


def test_help_of_every_command_names_every_flag(minikube: Program, capsys: pytest.CaptureFixture[str]) -> None:
    from minikube.cli.main import main

    for path, command in every_command():
        assert main([*path.split(), "--help"]) == 0
        text = capsys.readouterr().out
        assert command.summary in text or command.details
        assert all(f"--{flag.name}=" in text for flag in command.flags if not flag.hidden), path
    assert minikube("help", "config", "set").stdout == minikube("config", "set", "-h").stdout


def test_what_is_not_built_says_so(minikube: Program) -> None:
    assert {"minikube tunnel", "minikube image build"} <= {path for path, _ in unbuilt_commands()}
    done = minikube("tunnel", "--cleanup=false")
    assert done.returncode == 16
    assert "X Exiting due to MK_UNIMPLEMENTED: `minikube tunnel` is not built yet: " in done.stderr


def test_errors_are_events_for_programs(minikube: Program) -> None:
    event = json.loads(minikube("stop", "-o", "json").stdout)
    assert (event["data"]["name"], event["data"]["exitcode"]) == ("GUEST_PROFILE_NOT_FOUND", "85")


def test_every_unbuilt_command_has_a_sentence(
    minikube: Program, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from minikube.cli.main import main

    for key, value in minikube.environment.items():
        monkeypatch.setenv(key, value)
    for path, why in unbuilt_commands():
        assert main(path.split()) == 16, path
        assert why in "".join(capsys.readouterr())


_ANY = [
    "status",
    "ip",
    "ssh",
    "stop",
    "logs",
    "update-context",
    "kubectl -- get pods",
    "pause",
    "unpause",
    "cp a /b",
    "ssh-key",
    "ssh-host",
]


@pytest.mark.parametrize("words", [line.split() for line in (*_ANY, "stop --schedule=5m", "stop --cancel-scheduled")], ids=" ".join)
def test_missing_profile(minikube: Program, words: list[str]) -> None:
    done = minikube(*words, "-p", "nobody") if "--" not in words else minikube("-p", "nobody", *words)
    assert done.returncode == 85
    assert done.stdout.splitlines() == [
        '* Profile "nobody" not found. Run "minikube profile list" to view all profiles.',
        '  To start a cluster, run: "minikube start -p nobody"',
    ]
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["../../etc", "/etc", "a/b", ".", "..", " ", "-x"])
@pytest.mark.parametrize("command", ["status", "stop", "delete", "start"])
def test_names_that_are_paths_reach_nothing(minikube: Program, name: str, command: str) -> None:
    done = minikube.inside(command, f"--profile={name}", "--dry-run" if command == "start" else "--alsologtostderr")
    assert done.returncode in (14, 85) or (command == "delete" and done.returncode == 0), done.stderr
    assert "Traceback" not in done.stderr


def test_called_as_kubectl(minikube: Program, tmp_path: Path) -> None:
    link = tmp_path / "kubectl"
    link.symlink_to(PROGRAM)
    argv = [sys.executable, "-s", "-E", str(link), "get", "pods", "--context", "other", "-o", "wide"]
    environment = minikube.environment | {"PYTHONPATH": str(PROGRAM.parent)}
    done = subprocess.run([argv[0], "-s", *argv[3:]], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 85
    assert '"other" not found' in done.stdout
    assert '"other" not found' in minikube("get", "--context=other", MINIKUBE_CALLED_AS="kubectl").stdout


def test_a_reader_that_goes_away_is_no_error(minikube: Program) -> None:
    script = f"{sys.executable} -s -E {PROGRAM} start --help | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], env=minikube.environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_words_that_are_not_text(minikube: Program) -> None:
    argv = [sys.executable.encode(), b"-s", b"-E", str(PROGRAM).encode(), b"profile", b"\xff\xfe"]
    done = subprocess.run(argv, env=minikube.environment, capture_output=True, check=False)
    assert done.returncode == 14
    assert b"Traceback" not in done.stderr
    assert b"\\udcff" in done.stderr


def test_an_error_inside_is_a_sentence_and_a_file(minikube: Program) -> None:
    (minikube.home / "profiles").mkdir(parents=True)
    (minikube.home / "profiles" / "minikube").symlink_to("minikube")  # a loop: every look at it fails in a way nobody planned for
    done = minikube("ip")
    assert "Traceback" not in done.stderr + done.stdout
    assert done.returncode != 0


def test_audit_rows(minikube: Program) -> None:
    minikube("config", "set", "memory", "4g")
    minikube("tunnel", "--user=tester", "-p", "other")
    minikube("tunnel", "--skip-audit")
    minikube("status")
    rows = [json.loads(line) for line in (minikube.home / "logs" / "audit.json").read_text().splitlines()]
    assert [(row["data"]["command"], row["data"]["args"]) for row in rows] == [
        ("config", "set memory 4g"),
        ("tunnel", "--user=tester -p other"),
    ]
    assert rows[1]["data"]["user"] == "tester"
    assert rows[1]["data"]["profile"] == "other"
    assert rows[0]["type"] == "io.k8s.sigs.minikube.audit"
    assert set(rows[0]["data"]) == {"args", "command", "endTime", "id", "profile", "startTime", "user", "version"}
    assert minikube("tunnel", f"--user={'x' * 61}").returncode == 14


def test_the_audit_log_does_not_grow_without_end(minikube: Program) -> None:
    minikube("config", "set", "MaxAuditEntries", "3")
    for number in range(6):
        minikube("tunnel", f"--bind-address={number}" + "x" * 200)
    rows = (minikube.home / "logs" / "audit.json").read_text().splitlines()
    assert len(rows) <= 5
    assert "--bind-address=5" in rows[-1]


def test_log_flags(minikube: Program, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "details.txt"
    done = minikube("tunnel", f"--log_file={file}", "--alsologtostderr")
    assert file.exists()
    assert done.returncode == 16
    minikube("tunnel", f"--log_dir={tmp_path / 'logs'}")
    assert [path.name.startswith("minikube_tunnel_") for path in (tmp_path / "logs").iterdir()] == [True]
    assert minikube("tunnel", "--log_file=/proc/nothing").returncode == 37
