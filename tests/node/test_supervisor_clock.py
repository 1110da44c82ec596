"""Time: services that run again and again, and a wall clock that somebody sets."""

from __future__ import annotations

import sys
from pathlib import Path

from supervised_node import SupervisedNode, until

# A supervisor whose wall clock jumps ten years with every look at it, back and forth.
JUMPING = """
import runpy, sys, time
real, jump = time.time, [3e8]
def jumping():
    jump[0] = -jump[0]
    return real() + jump[0]
time.time = jumping
sys.argv = sys.argv[-2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_a_oneshot_runs_again_and_again(node: SupervisedNode, tmp_path: Path) -> None:
    node.start([{"name": "renewal", "kind": "oneshot", "argv": shell(f"echo ran >> {tmp_path}/runs"), "every": 0.3}])
    assert node.service("renewal")["state"] == "done"
    assert node.lines("runs") == []
    node.control.wait(timeout=5)
    until(lambda: len(node.lines("runs")) >= 3)
    assert node.service("renewal")["restarts"] == 0


def test_a_node_ends_while_a_oneshot_rests(node: SupervisedNode) -> None:
    node.start([{"name": "renewal", "kind": "oneshot", "argv": ["true"], "every": 3600.0}])
    assert node.control.shutdown(20)


def test_a_clock_that_is_set_back_and_forth_disturbs_nothing(node: SupervisedNode, tmp_path: Path) -> None:
    services = [
        {"name": "crashing", "argv": shell(f"echo ran >> {tmp_path}/crashes; exit 1")},
        {"name": "steady", "argv": ["sleep", "1000"]},
        {"name": "late", "argv": ["sleep", "1000"], "after": [f"{tmp_path}/sign"]},
        {"name": "often", "kind": "oneshot", "argv": shell(f"echo ran >> {tmp_path}/often"), "every": 0.3},
    ]
    node.start(services, prefix=(sys.executable, "-c", JUMPING))
    pid = node.until_state("steady", "running")["pid"]
    until(lambda: len(node.lines("crashes")) >= 3 and len(node.lines("often")) >= 3)
    (tmp_path / "sign").touch()
    node.until_state("late", "running")
    assert node.service("steady")["pid"] == pid
    assert node.control.shutdown(20)
