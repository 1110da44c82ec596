"""Measure quick commands as whole processes, beside bare Python in the same run: `python -m bench.commands [--rounds 20] [--json FILE]`.

The figure to compare is CPU (user + system): wall time says more about what else the machine does. Commands and bare Python take
turns, so that both see the same machine. A cluster is started for those that need one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import NamedTuple

from bench.run import CLONE, OURS, PROFILE, own_home

LAUNCHER = ("-s", "-E", str(CLONE / "src/__main__.py"))  # what the launcher runs
BARE = "python3 -c pass"
KUBECTL = "kubectl get nodes"
COMMANDS = {
    "version": ("version",),
    "--help": ("--help",),
    "completion": ("__complete", "--", "sta"),
    "config get": ("config", "get", "profile"),
    "profile list -l": ("profile", "list", "-l"),
    "ip": ("ip",),
    "status": ("status",),
    "kubectl -- get nodes": ("kubectl", "--", "get", "nodes"),
    "logs -n 25": ("logs", "-n", "25"),
}


class Figure(NamedTuple):
    """One run of one process."""

    cpu_ms: float
    wall_ms: float
    mib: float


def main() -> None:
    import sys

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--json", type=Path, help="write every single figure there")
    chosen = options.parse_args()
    with own_home() as scratch:
        OURS.run("start", "-p", PROFILE)
        OURS.run("profile", PROFILE)
        kubectl = next(scratch.glob(".minikube/cache/linux/*/*/kubectl"))
        figures = measure(chosen.rounds, python=sys.executable, kubectl=str(kubectl))
    print(table(figures))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(rounds: int, *, python: str, kubectl: str) -> dict[str, list[Figure]]:
    programs = {BARE: (python, "-c", "pass"), KUBECTL: (kubectl, "get", "nodes")}
    programs |= {name: (python, *LAUNCHER, *words) for name, words in COMMANDS.items()}
    figures: dict[str, list[Figure]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, argv in programs.items():
            figure = run(argv)
            if number:  # the first round fills the caches
                figures[name].append(figure)
    return figures


def run(argv: tuple[str, ...]) -> Figure:
    """One process from fork to its end; what it wrote goes nowhere."""
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    began = time.monotonic()
    process = os.posix_spawn(argv[0], argv, os.environ, file_actions=nowhere)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(argv)} ended with {os.waitstatus_to_exitcode(status)}")
    return Figure((usage.ru_utime + usage.ru_stime) * 1000, (time.monotonic() - began) * 1000, usage.ru_maxrss / 1024)


def table(figures: dict[str, list[Figure]]) -> str:
    """Medians; `x` is how many times the CPU of bare Python."""
    bare = statistics.median(figure.cpu_ms for figure in figures[BARE])
    lines = [f"{'command':24} {'CPU ms':>8} {'least':>8} {'x':>6} {'wall ms':>8} {'MiB':>6}"]
    for name, rows in figures.items():
        cpu, wall, mib = (statistics.median(row[column] for row in rows) for column in range(3))
        lines.append(f"{name:24} {cpu:8.1f} {min(row.cpu_ms for row in rows):8.1f} {cpu / bare:6.2f} {wall:8.1f} {mib:6.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
