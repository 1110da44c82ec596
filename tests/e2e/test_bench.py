"""The benchmark runs: one round, no judgement of speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CLONE = Path(__file__).parents[2]


def test_one_round(tmp_path: Path, node_image: Path) -> None:
    argv = [sys.executable, "-m", "bench.run", "--rounds=1", f"--json={tmp_path}/figures.json", f"--chart={tmp_path}/chart.svg"]
    environment = os.environ | {"PYTHONPATH": f"{CLONE}/src:{CLONE}"}
    done = subprocess.run(argv, cwd=CLONE, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())["minikube"]
    assert all(values[0] > 0 for values in figures.values()), figures
    assert {"start: exit", "start: DNS", "start: CPU s", "second start", "stop", "restart: DNS", "delete"} <= figures.keys()
    assert all(name in done.stdout for name in figures)
    assert (tmp_path / "chart.svg").read_text().count("<rect") > 5
