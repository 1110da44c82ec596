"""Measure the life of a cluster, n times, and print medians: `python -m bench.run [--rounds 5] [--idle 120] [--json FILE] [--chart FILE]`.

`--against PROGRAM` runs the same commands with another minikube-compatible program, in turns with ours, and says how many times as long it
takes; what only we can see from inside (DNS, CPU, memory, disk) is measured for ours alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CLONE = Path(__file__).parent.parent
PROFILE = "bench"

MEASURES = {
    "start: exit": "new cluster, command to exit with every system pod Ready",
    "start: node Ready": "new cluster, command to node Ready",
    "start: DNS": "new cluster, command to DNS answering inside the cluster",
    "start: CPU s": "CPU seconds of the whole node by then",
    "second start": "start on the running, unchanged cluster",
    "second profile: exit": "new cluster beside a running one",
    "second profile: MB": "disk that only that cluster uses",
    "stop": "orderly stop",
    "restart: exit": "start after stop, to exit with every system pod Ready again",
    "restart: DNS": "start after stop, to DNS answering",
    "delete": "delete of the running cluster",
    "idle: % of a core": "CPU of the whole node that nobody uses",
    "idle: MiB": "its memory (sum of PSS)",
}

Figures = dict[str, list[float]]


class Program(NamedTuple):
    """One that is measured: how it is called, and what `start` needs besides."""

    label: str
    argv: tuple[str, ...]
    start_options: tuple[str, ...] = ()

    def run(self, *words: str, show: bool = False) -> float:
        """Seconds it took."""
        began = time.monotonic()
        said = self.said(*words)
        took = time.monotonic() - began
        if show:
            print(said)
        return took

    def said(self, *words: str, stdin: int = subprocess.DEVNULL) -> str:
        more = self.start_options if words[0] == "start" else ()
        done = subprocess.run([*self.argv, *words, *more], stdin=stdin, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.label} {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


OURS = Program("minikube", (sys.executable, str(CLONE / "src")))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--idle", type=float, default=0, help="seconds to stay idle once, for the idle figures")
    options.add_argument("--json", type=Path, help="write every single figure there")
    options.add_argument("--chart", type=Path, help="write a chart (SVG) there")
    options.add_argument("--timing", action="store_true", help="show the steps of the last new start")
    options.add_argument("--against", help="path of another minikube-compatible program to run in turns with ours")
    options.add_argument("--against-start-options", default="", help='what its `start` needs, as in "--driver=none"')
    chosen = options.parse_args()
    programs = [OURS]
    if chosen.against:
        start_options = tuple(shlex.split(chosen.against_start_options))
        programs.append(Program(f"{Path(chosen.against).name} (other)", (chosen.against,), start_options))
    figures: dict[str, Figures] = {program.label: {} for program in programs}
    for number in range(chosen.rounds):
        for program in programs:
            first, last = number == 0, number == chosen.rounds - 1
            found = life(program, idle=chosen.idle if first else 0, show=chosen.timing and last)
            for name, value in found.items():
                figures[program.label].setdefault(name, []).append(value)
        print(f"round {number + 1} of {chosen.rounds} done", file=sys.stderr)
    print(table(figures))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")
    if chosen.chart:
        from bench.chart import chart

        chosen.chart.write_text(chart(figures))


def life(program: Program, *, idle: float = 0, show: bool = False) -> dict[str, float]:
    """One cluster from its first start to its end."""
    with own_home(program) as scratch:
        if program == OURS:
            return _watched_life(program, scratch / ".minikube", idle=idle, show=show)
        return _life_from_outside(program)


@contextlib.contextmanager
def own_home(program: Program = OURS) -> Iterator[Path]:
    """A directory in which the program keeps everything, and of which nothing is left afterwards."""
    with tempfile.TemporaryDirectory(prefix="minikube-bench-") as scratch:
        os.environ |= {"MINIKUBE_HOME": scratch, "KUBECONFIG": f"{scratch}/kubeconfig"}
        try:
            yield Path(scratch)
        finally:
            program.run("delete", "--all")


def _life_from_outside(program: Program) -> dict[str, float]:
    figures = {"start: exit": program.run("start", "-p", PROFILE), "second start": program.run("start", "-p", PROFILE)}
    figures["stop"] = program.run("stop", "-p", PROFILE)
    figures["restart: exit"] = program.run("start", "-p", PROFILE)
    return figures | {"delete": program.run("delete", "-p", PROFILE)}


def _watched_life(program: Program, home: Path, *, idle: float, show: bool) -> dict[str, float]:
    from bench.watch import Watch, cpu_seconds, own_megabytes, pss_mib
    from minikube.drivers.native.layout import Layout

    cgroup = Layout(PROFILE).cgroup
    began = time.time()
    with Watch(PROFILE, home) as watch:
        figures = {"start: exit": program.run("start", "-p", PROFILE, *(["--timing"] if show else []), show=show)}
    figures |= {"start: node Ready": watch.node_ready - began, "start: DNS": watch.dns - began, "start: CPU s": watch.cpu_at_dns}
    figures["second start"] = program.run("start", "-p", PROFILE)
    if idle:
        time.sleep(idle)
        before, figures["idle: MiB"] = cpu_seconds(cgroup), pss_mib(cgroup)
        time.sleep(30)
        figures["idle: % of a core"] = (cpu_seconds(cgroup) - before) / 30 * 100
    other = f"{PROFILE}2"
    figures["second profile: exit"] = program.run("start", "-p", other)
    figures["second profile: MB"] = own_megabytes(Layout(other).directory)
    program.run("delete", "-p", other)
    figures["stop"] = program.run("stop", "-p", PROFILE)
    began = time.time()
    with Watch(PROFILE, home) as watch:
        figures["restart: exit"] = program.run("start", "-p", PROFILE)
    figures["restart: DNS"] = watch.dns - began
    return figures | {"delete": program.run("delete", "-p", PROFILE)}


def table(figures: dict[str, Figures]) -> str:
    ours, *others = figures.values()
    more = "".join(f" {label:>18} {'times':>6}" for label in list(figures)[1:])
    lines = [f"{'measure':24} {'median':>8} {'least':>8} {'most':>8}{more}"]
    for name in (name for name in MEASURES if name in ours):
        values = ours[name]
        line = f"{name:24} {statistics.median(values):8.2f} {min(values):8.2f} {max(values):8.2f}"
        for other in others:
            theirs = statistics.median(other[name]) if name in other else None
            line += f" {theirs:18.2f} {theirs / statistics.median(values):6.1f}" if theirs is not None else f" {'':18} {'':6}"
        lines.append(line.rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    main()
