"""Services: order, readiness, restarts, logs, reaping, reload."""

from __future__ import annotations

import os
import py_compile
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from supervised_node import INTERPRETER, SupervisedNode, alive, until

from minikube.node import supervisor
from minikube.node.control import ControlRefused

SLEEP = ["sleep", "1000"]
LISTEN = "import socket,sys,time; time.sleep(0.2); s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(1000)"


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_a_service_starts_when_the_ones_before_it_are_ready(node: SupervisedNode, tmp_path: Path) -> None:
    order, listening = tmp_path / "order", tmp_path / "a.sock"
    node.start(
        [
            {"name": "last", "argv": shell(f"echo last >> {order}; exec sleep 1000"), "after": ["once", "listener"]},
            {"name": "once", "kind": "oneshot", "argv": shell(f"test -S {listening} && echo once >> {order}"), "after": ["listener"]},
            {"name": "listener", "argv": [sys.executable, "-c", LISTEN, str(listening)], "ready": {"socket": str(listening)}},
        ]
    )
    node.control.wait(["last"], 20)
    until(lambda: node.lines("order") == ["once", "last"])
    states = {name: report["state"] for name, report in node.control.status()["services"].items()}
    assert states == {"last": "running", "once": "done", "listener": "ready"}
    assert node.service("once")["restarts"] == 0


def test_a_service_can_wait_for_a_file_and_be_ready_by_one(node: SupervisedNode, tmp_path: Path) -> None:
    needed, ready = tmp_path / "needed", tmp_path / "ready"
    node.start([{"name": "one", "argv": shell(f"touch {ready}; exec sleep 1000"), "after": [str(needed)], "ready": {"file": str(ready)}}])
    with pytest.raises(ControlRefused, match="not in time"):
        node.control.wait(["one"], 0.1)
    assert node.service("one")["state"] == "waiting"
    needed.touch()
    node.control.wait(["one"], 20)
    assert node.service("one")["state"] == "ready"


MODULE = """
import os, signal, sys
def main(*words):
    own = [name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
    broken = signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
    print(open("/proc/self/comm").read().strip(), *words, os.environ["GREETING"], sorted(own), os.getsid(0) == os.getpid(), broken)
    return 0 if words[0] == "well" else int(words[0])
"""


def test_a_python_file_is_run_by_a_copy_of_the_supervisor_that_has_nothing_of_it(node: SupervisedNode, tmp_path: Path) -> None:
    module, kind, env = tmp_path / "greeter.py", "oneshot", {"GREETING": "hello"}
    module.write_text(MODULE)
    services = [{"name": "good", "argv": [str(module), "well"], "kind": kind, "env": env}]
    services += [{"name": "bad", "argv": [str(module), "3"], "kind": kind, "env": env}]
    services += [{"name": "worse", "argv": [str(module), "three"], "kind": kind, "env": env}]
    node.start(services)
    assert node.until_state("good", "done")["last_exit"] == 0
    until(lambda: node.log("good") == "greeter well hello ['0', '1', '2'] True True\n")
    assert node.until_state("bad", "failed")["last_exit"] == 3
    assert node.until_state("worse", "failed")["last_exit"] == 126
    until(lambda: "invalid literal" in node.log("worse"))
    assert node.control.run([str(module), "well"])[0] == 126  # not so for commands: it is no program


def test_a_compiled_file_that_is_damaged_is_compiled_again(node: SupervisedNode, tmp_path: Path) -> None:
    """Nothing that waits for the module would ever start."""
    module = tmp_path / "greeter.py"
    module.write_text("def main():\n    print('hello')\n")
    compiled = Path(py_compile.compile(str(module), doraise=True) or "")
    compiled.write_bytes(compiled.read_bytes()[:16] + b"nonsense")
    node.start([{"name": "good", "argv": [str(module)], "kind": "oneshot"}])
    node.until_state("good", "done")
    until(lambda: node.log("good") == "hello\n")


def test_a_daemon_that_ends_is_started_again_later_and_later(node: SupervisedNode) -> None:
    node.start([{"name": "flaky", "argv": shell("echo run; exit 3")}], restart={"first": 0.02, "longest": 0.05})
    report = until(lambda: found if (found := node.service("flaky"))["restarts"] >= 4 else None)
    assert report["last_exit"] == 3
    until(lambda: node.log("flaky").count("run") >= 4)


def test_a_killed_daemon_comes_back_with_another_pid(node: SupervisedNode) -> None:
    node.start([{"name": "daemon", "argv": SLEEP}], restart={"first": 0.02})
    before = node.until_state("daemon", "running")["pid"]
    os.kill(before, signal.SIGKILL)
    after = until(lambda: found if (found := node.service("daemon"))["pid"] not in (before, None) else None)
    assert after["last_exit"] == 137


def test_a_failed_oneshot_is_tried_again_and_holds_back_the_others(node: SupervisedNode, tmp_path: Path) -> None:
    wanted = tmp_path / "wanted"
    node.start(
        [{"name": "once", "kind": "oneshot", "argv": ["test", "-e", str(wanted)]}, {"name": "next", "argv": SLEEP, "after": ["once"]}],
        restart={"first": 0.02, "longest": 0.05},
    )
    until(lambda: node.service("once")["restarts"] >= 2)
    assert node.service("next")["state"] == "waiting"
    wanted.touch()
    node.control.wait(timeout=20)
    assert node.service("once")["state"] == "done"


def test_stop_holds_until_start(node: SupervisedNode) -> None:
    node.start([{"name": "daemon", "argv": SLEEP}, {"name": "lazy", "argv": SLEEP, "autostart": False}])
    before = node.until_state("daemon", "running")["pid"]
    assert node.service("lazy")["state"] == "stopped"
    node.control.stop("daemon")
    assert node.service("daemon")["state"] == "stopped"
    assert not alive(before)
    node.control.start("daemon", "lazy")
    node.control.wait(["daemon", "lazy"], 20)
    first = node.service("daemon")["pid"]
    node.control.restart("daemon")
    node.control.wait(["daemon"], 20)
    assert node.service("daemon")["pid"] not in (first, before)


def test_a_service_that_ignores_its_signal_is_killed_with_its_children(node: SupervisedNode, tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = f"trap '' TERM; sleep 1000 & echo $! > {child}; wait; sleep 1000"
    node.start([{"name": "deaf", "argv": shell(script), "stop_timeout": 0.1}])
    pid = int(until(lambda: node.lines("child"))[0])
    node.control.stop("deaf")
    assert node.service("deaf")["last_exit"] == 137
    until(lambda: not alive(pid))


def test_setup_runs_first_and_its_failures_are_told(node: SupervisedNode, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    node.start(
        [{"name": "daemon", "argv": shell(f"cat {copy}; exec sleep 1000")}],
        setup=[
            {"argv": shell(f"cat > {copy}"), "input": "from the metadata\n"},
            ["sh", "-c", "echo why >&2; exit 4"],
            ["/nowhere/program"],
        ],
    )
    node.control.wait(timeout=20)
    until(lambda: node.log("daemon") == "from the metadata\n")
    setup = node.control.status()["setup"]
    assert setup["done"]
    assert [(failure["argv"][0], failure["exit"]) for failure in setup["failures"]] == [("sh", 4), ("/nowhere/program", 127)]
    until(lambda: "why\n" in node.log("setup"))


def test_logs_rotate_without_losing_or_splitting_a_line(node: SupervisedNode, tmp_path: Path) -> None:
    count = 10000
    node.start([{"name": "talker", "kind": "oneshot", "argv": shell(f"seq -f 'line-%09.0f' {count}")}], log_limit=50000)
    logs = [tmp_path / "log" / name for name in ("talker.log.3", "talker.log.2", "talker.log.1", "talker.log")]
    expected = [f"line-{number:09d}" for number in range(1, count + 1)]
    until(lambda: [line for log in logs if log.exists() for line in log.read_text().splitlines()] == expected)
    assert (tmp_path / "log" / "talker.log.1").exists()


def test_a_full_disk_costs_log_lines_and_nothing_else(node: SupervisedNode, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for name in ("talker", "supervisor"):
        (tmp_path / "log" / f"{name}.log").symlink_to("/dev/full")
    node.start([{"name": "talker", "argv": shell(f"seq 100000; touch {tmp_path}/written; exec sleep 1000")}])
    until((tmp_path / "written").exists)
    assert node.service("talker")["state"] == "running"


def test_orphans_are_reaped(node: SupervisedNode, tmp_path: Path) -> None:
    assert node.process is None
    node.start([{"name": "forker", "argv": shell(f"(sleep 0.05 & echo $! > {tmp_path}/orphan); exec sleep 1000")}])
    orphan = int(until(lambda: node.lines("orphan"))[0])
    until(lambda: not Path(f"/proc/{orphan}").exists())


def test_reload_starts_new_stops_removed_and_restarts_changed_services(node: SupervisedNode) -> None:
    same, changed = {"name": "same", "argv": SLEEP}, {"name": "changed", "argv": SLEEP}
    node.start([same, changed, {"name": "removed", "argv": SLEEP}])
    node.control.wait(timeout=20)
    before = node.control.status()["services"]
    node.configure([same, changed | {"env": {"A": "b"}}, {"name": "added", "argv": SLEEP}])
    reply = node.control.reload()
    assert (reply["added"], reply["removed"], reply["changed"]) == (["added"], ["removed"], ["changed"])
    node.control.wait(["same", "changed", "added"], 20)
    until(lambda: "removed" not in node.control.status()["services"])
    after = node.control.status()["services"]
    assert after["same"]["pid"] == before["same"]["pid"]
    assert after["changed"]["pid"] != before["changed"]["pid"]
    assert not alive(before["removed"]["pid"])


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[]",
        '{"services": [{"name": "a"}]}',
        '{"services": [{"name": "a", "argv": ["x"], "after": ["b"]}]}',
        '{"services": [{"name": "a", "argv": ["x"], "after": ["b"]}, {"name": "b", "argv": ["x"], "after": ["a"]}]}',
        '{"services": [{"name": "../a", "argv": ["x"]}]}',
        '{"services": [{"name": "a", "argv": ["x", 1]}]}',
        '{"services": [{"name": "a", "argv": ["x"], "stop_signal": "SIGNOTHING"}]}',
        '{"services": [{"name": "a", "argv": ["x"], "ready": {"tcp": "80"}}]}',
        '{"shutdown_timeout": "long"}',
        '{"unknown": 1}',
    ],
)
def test_broken_metadata_is_refused_and_changes_nothing(node: SupervisedNode, tmp_path: Path, broken: str) -> None:
    node.start([{"name": "daemon", "argv": SLEEP}])
    before = node.until_state("daemon", "running")
    node.metadata.write_text(broken)
    with pytest.raises(ControlRefused):
        node.control.reload()
    assert node.service("daemon") == before
    done = subprocess.run([*INTERPRETER, supervisor.__file__, str(node.metadata)], capture_output=True, timeout=20, check=False)
    assert done.returncode == 1
    assert b"the metadata cannot be used" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change another process")
def test_unhurried_processes_get_a_timer_slack_and_others_do_not(tmp_path: Path) -> None:
    sleeper = tmp_path / "unhurried-test-sleeper"
    shutil.copy("/bin/sleep", sleeper)
    processes = [subprocess.Popen([path, "1000"]) for path in (str(sleeper), "sleep")]
    try:
        slack = supervisor.Slack()
        slack.due = 0
        until(lambda: Path(f"/proc/{processes[0].pid}/comm").read_text().startswith(sleeper.name[:15]))
        slack.advance(1.0, {sleeper.name: 500})
        assert [Path(f"/proc/{process.pid}/timerslack_ns").read_text().strip() for process in processes] == ["500000000", "50000"]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_failures_in_the_same_way_are_counted_with_the_last_words(node: SupervisedNode) -> None:
    node.start(
        [{"name": "broken", "argv": shell("echo something; echo no such flag >&2; exit 3")}], restart={"first": 0.05, "longest": 0.05}
    )
    found = until(lambda: report if (report := node.service("broken")).get("alike", 0) >= 3 else None)
    assert (found["last_exit"], found["words"]) == (3, "something\nno such flag\n")
    assert found["failing"] > 0


def test_failures_in_different_ways_and_before_a_good_end_do_not_count(node: SupervisedNode, tmp_path: Path) -> None:
    counted = f"echo >> {tmp_path}/count; n=$(wc -l < {tmp_path}/count);"
    other = f"echo >> {tmp_path}/other; n=$(wc -l < {tmp_path}/other);"
    services = [
        {"name": "different", "argv": shell(f"{counted} exit $((n % 2 + 1))")},
        {"name": "better", "kind": "oneshot", "argv": shell(f"{other} [ $n -gt 3 ] || exit 7")},
    ]
    node.start(services, restart={"first": 0.05, "longest": 0.05})
    assert "alike" not in node.until_state("better", "done")
    until(lambda: node.service("different")["restarts"] > 5)
    assert node.service("different").get("alike", 0) <= 1
