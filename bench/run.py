"""Measure the life of a cluster, n times, and print medians: `python -m bench.run [--rounds 5] [--idle 120] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLONE = Path(__file__).parent.parent
PROFILE = "bench"

MEASURES = {
    "start: exit": "new cluster, command to exit with every system pod Ready",
    "start: node Ready": "new cluster, command to node Ready",
    "start: DNS": "new cluster, command to DNS answering inside the cluster",
    "start: CPU s": "CPU seconds of the whole node by then",
    "second start": "start on the running, unchanged cluster",
    "stop": "orderly stop",
    "restart: exit": "start after stop, to exit with every system pod Ready again",
    "restart: DNS": "start after stop, to DNS answering",
    "delete": "delete of the running cluster",
    "second profile: exit": "new cluster beside a running one",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--idle", type=float, default=0, help="seconds to stay idle once, for the idle figures")
    options.add_argument("--json", type=Path, help="write every single figure there")
    options.add_argument("--timing", action="store_true", help="show the steps of the last new start")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="minikube-bench-") as scratch:
        os.environ |= {"MINIKUBE_HOME": scratch, "KUBECONFIG": f"{scratch}/kubeconfig"}
        try:
            figures = measure(chosen.rounds, Path(scratch) / ".minikube", idle=chosen.idle, timing=chosen.timing)
        finally:
            minikube("delete", "--all")
    print(table(figures))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(rounds: int, home: Path, *, idle: float, timing: bool) -> dict[str, list[float]]:
    from bench.watch import Watch, cpu_seconds, pss_mib
    from minikube.drivers.native.layout import Layout

    figures: dict[str, list[float]] = {name: [] for name in MEASURES}
    cgroup = Layout(PROFILE).cgroup
    for number in range(rounds):
        last = number == rounds - 1
        began = time.time()
        with Watch(PROFILE, home) as watch:
            figures["start: exit"].append(
                minikube("start", "-p", PROFILE, *(["--timing"] if timing and last else []), show=timing and last)
            )
        figures["start: node Ready"].append(watch.node_ready - began)
        figures["start: DNS"].append(watch.dns - began)
        figures["start: CPU s"].append(watch.cpu_at_dns)
        figures["second start"].append(minikube("start", "-p", PROFILE))
        if idle and number == 0:
            time.sleep(idle)
            before, figures["idle: MiB"] = cpu_seconds(cgroup), [pss_mib(cgroup)]
            time.sleep(30)
            figures["idle: % of a core"] = [(cpu_seconds(cgroup) - before) / 30 * 100]
        figures["second profile: exit"].append(minikube("start", "-p", f"{PROFILE}2"))
        minikube("delete", "-p", f"{PROFILE}2")
        figures["stop"].append(minikube("stop", "-p", PROFILE))
        began = time.time()
        with Watch(PROFILE, home) as watch:
            figures["restart: exit"].append(minikube("start", "-p", PROFILE))
        figures["restart: DNS"].append(watch.dns - began)
        figures["delete"].append(minikube("delete", "-p", PROFILE))
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return figures


def minikube(*words: str, show: bool = False) -> float:
    """Run the clone's program; seconds it took."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, CLONE / "src", *words], capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"minikube {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    if show:
        print(done.stdout)
    return took


def table(figures: dict[str, list[float]]) -> str:
    lines = [f"{'measure':24} {'median':>8} {'least':>8} {'most':>8}"]
    for name, values in figures.items():
        if values:
            lines.append(f"{name:24} {statistics.median(values):8.2f} {min(values):8.2f} {max(values):8.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
