"""What people and programs get to see."""

from __future__ import annotations

import io
import json
import re
import threading
from pathlib import Path

import pytest

from minikube.output.events import STEPS
from minikube.output.notready import host_not_running
from minikube.output.reason import Reason
from minikube.output.report import JsonReport, Report, make_report


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_plain_text_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("start")
    report.step("Initial Minikube Setup", "minikube v1 on Debian", style="happy")
    report.step("Booting control plane", "Booting up control plane ...", style="sub")
    report.info("hello")
    report.warning("careful")
    captured = capsys.readouterr()
    assert captured.out == "* minikube v1 on Debian\n  - Booting up control plane ...\n* hello\n"
    assert captured.err == "! careful\n"


class Screen(io.StringIO):
    """A terminal without colours."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_long_each_step_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen, clock = Screen(), iter([10.0, 13.24, 20.0, 20.01, 30.0, 31.5, 40.0, 42.0])
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    report = Report("start")
    report.step("Starting Node", "one ...")
    assert screen.getvalue() == "* one ..."
    report.step("Booting control plane", "two ...", style="sub")
    report.warning("careful")
    report.step("Verifying Kubernetes", "three ...")
    report.info("news")
    report.step("Enabling Addons", "four ...")
    report.error(Reason("DRV_NEEDS_ROOT", "no", advice="sudo"))
    assert screen.getvalue() == (
        "* one ... (3.2 s)\n  - two ...\n! careful\n* three ... (1.5 s)\n* news\n* four ... (2.0 s)\n"
        "\nX Exiting due to DRV_NEEDS_ROOT: no\n* Suggestion: sudo\n\n"
    )


def test_a_step_and_live_progress_share_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    report = Report("start")
    report.step("Downloading Artifacts", "parts ...")
    with report.progress.task("kubelet", 10):
        report.step("Starting Node", "node ...")
    report.step("Done", "Done!")
    shown = [line for line in re.sub(r"\x1b\[\d*[A-Z]", "", screen.getvalue()).splitlines() if "kubelet" not in line]
    assert shown == ["* parts ...", "* node ...", "* Done!"]


def test_in_style(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_IN_STYLE", "true")
    report = Report("start")
    report.step("Done", "Done!", style="ready")
    report.warning("careful")
    captured = capsys.readouterr()
    assert captured.out == "🏄  Done!\n"
    assert captured.err == "❗  \033[33mcareful\033[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    report.warning("careful")
    assert capsys.readouterr().err == "❗  careful\n"


def test_an_error_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    Report("start").error(Reason("DRV_NEEDS_ROOT", "The native driver needs root"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "\nX Exiting due to DRV_NEEDS_ROOT: The native driver needs root\n* Suggestion: Run the command as root: sudo -E minikube start\n\n"
    )


def test_not_ready_is_told_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    reason = host_not_running("second")
    Report("stop").error(reason)
    captured = capsys.readouterr()
    assert captured.out == (
        '* The control-plane node second host is not running: state=Stopped\n  To start a cluster, run: "minikube start -p second"\n'
    )
    assert (captured.err, reason.exit_code) == ("", 83)


def test_events(capsys: pytest.CaptureFixture[str]) -> None:
    report = make_report("start", json=True)
    report.step("Selecting Driver", "Using the none driver")
    report.info("hello")
    report.warning("careful")
    report.error(Reason("K8S_DOWNGRADE_UNSUPPORTED", "no", advice="do this", url="https://example.org"))
    captured = capsys.readouterr()
    assert captured.err == ""
    step, info, warning, error = lines(captured.out)
    assert set(step) == {"specversion", "id", "source", "type", "datacontenttype", "data"}
    assert (step["specversion"], step["source"]) == ("1.0", "https://minikube.sigs.k8s.io/")
    assert step["type"] == "io.k8s.sigs.minikube.step"
    assert step["data"] == {"currentstep": "1", "totalsteps": "19", "name": "Selecting Driver", "message": "Using the none driver"}
    assert (info["type"], info["data"]) == ("io.k8s.sigs.minikube.info", {"message": "hello"})
    assert (warning["type"], warning["data"]) == ("io.k8s.sigs.minikube.warning", {"message": "careful"})
    assert error["type"] == "io.k8s.sigs.minikube.error"
    assert error["data"] == {
        "message": "no",
        "exitcode": "106",
        "name": "K8S_DOWNGRADE_UNSUPPORTED",
        "advice": "do this",
        "url": "https://example.org",
        "issues": "",
    }
    assert len({event["id"] for event in (step, info, warning, error)}) == 4


def test_progress_as_events(capsys: pytest.CaptureFixture[str]) -> None:
    report = JsonReport("start")
    report.step("Downloading Artifacts", "Components ...")
    with report.progress.task("kubelet", 10, "MB") as task:
        task.set(10)
    _, begin, *moves = lines(capsys.readouterr().out)
    assert begin["type"] == "io.k8s.sigs.minikube.download"
    assert begin["data"] == {"artifact": "kubelet", "currentstep": "2", "totalsteps": "19"}
    assert moves[-1]["type"] == "io.k8s.sigs.minikube.download.progress"
    assert moves[-1]["data"] == {"artifact": "kubelet", "currentstep": "2", "totalsteps": "19", "progress": "1.0000"}


def test_events_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "minikube" / "events.json"
    report = Report("stop", events_file=file)
    report.step("Stopping", "Stopping node ...")
    assert not file.parent.exists()
    file.parent.mkdir()
    file.write_text("from the last start\n")
    report.info("not kept")
    report.warning("kept")
    report.step("Done", "1 node stopped.")
    assert [event["data"].get("name", event["data"]["message"]) for event in lines(file.read_text())] == ["Stopping", "kept", "Done"]
    capsys.readouterr()


def test_a_refused_command_leaves_the_last_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events.json"
    file.write_text("from the last start\n")
    Report("start", events_file=file).error(Reason("MK_USAGE", "no"))
    assert file.read_text() == "from the last start\n"
    capsys.readouterr()


def test_threads_do_not_mix_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = JsonReport("start", events_file=tmp_path / "events.json")
    report.step("Starting Node", "go")
    threads = [threading.Thread(target=lambda: [report.warning("x" * 200) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(capsys.readouterr().out)) == 201
    assert len(lines((tmp_path / "events.json").read_text())) == 201


def test_step_numbers_are_upstreams() -> None:
    assert len(STEPS["start"]) == 20
    assert STEPS["start"].index("Preparing Kubernetes") == 11
    assert STEPS["start"].index("Done") == 19
