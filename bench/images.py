"""Measure `minikube image load` beside `ctr images import` of the same files: `python -m bench.images [--rounds 3] [--megabytes 500]`.

Both load into the same node, and take turns. `new` is an image of which the node has nothing, `changed` the same image with a new last
layer of a few kilobytes: what happens again and again while somebody works on a program. The bytes are those that went into the node.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bench.run import OURS, PROFILE, own_home
from minikube.artifacts.oci import Entry, Image, write_archive

NAME = "docker.io/library/bench:1"
_FILE = 1 << 20


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--megabytes", type=int, default=500)
    options.add_argument("--json", type=Path, help="write every single figure there")
    chosen = options.parse_args()
    with own_home() as scratch:
        OURS.run("start", "-p", PROFILE)
        figures = measure(chosen.rounds, chosen.megabytes, scratch)
    print(table(figures))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(rounds: int, megabytes: int, scratch: Path) -> dict[str, list[tuple[float, float]]]:
    """Seconds and megabytes moved, by what was done."""
    figures: dict[str, list[tuple[float, float]]] = {}
    programs: dict[str, Callable[[Path], tuple[float, float]]] = {"ctr images import": imported, "minikube image load": loaded}
    for number in range(rounds):
        # Whoever comes second may find the disk still busy with the first.
        for program, bring in list(programs.items())[:: -1 if number % 2 else 1]:
            base = files(scratch / "base", megabytes)
            for case, word in (("new", b"first"), ("changed", b"second")):
                archive = scratch / "image.tar"
                write_archive(archive, [Image(NAME, (base, (Entry("program", content=word * 1000),)))])
                os.sync()
                figures.setdefault(f"{program}: {case}", []).append(bring(archive))
            ssh("crictl rmi --prune > /dev/null 2>&1; ctr -n k8s.io images rm --sync " + NAME)
    return figures


def files(directory: Path, megabytes: int) -> tuple[Entry, ...]:
    """Files of a megabyte each that nobody has seen before."""
    directory.mkdir(exist_ok=True)
    for number in range(megabytes):
        (directory / str(number)).write_bytes(os.urandom(_FILE))
    return tuple(Entry(f"base/{number}", source=directory / str(number)) for number in range(megabytes))


def loaded(archive: Path) -> tuple[float, float]:
    began = time.monotonic()
    said = OURS.said("image", "load", "-p", PROFILE, str(archive))
    seconds = time.monotonic() - began
    found = re.search(r"\(([\d.]+) of", said)
    return seconds, float(found[1]) if found else 0.0


def imported(archive: Path) -> tuple[float, float]:
    """The quickest way without us: the file as it is, as stdin of ctr in the node."""
    began = time.monotonic()
    with archive.open("rb") as stream:
        OURS.said("ssh", "-p", PROFILE, "--", "ctr -n k8s.io images import -", stdin=stream.fileno())
    return time.monotonic() - began, archive.stat().st_size / 1e6


def ssh(command: str) -> None:
    OURS.said("ssh", "-p", PROFILE, "--", command)


def table(figures: dict[str, list[tuple[float, float]]]) -> str:
    lines = [f"{'measure':32} {'median s':>8} {'least':>8} {'most':>8} {'MB moved':>9}"]
    for name, values in figures.items():
        seconds = [value[0] for value in values]
        moved = statistics.median(value[1] for value in values)
        lines.append(f"{name:32} {statistics.median(seconds):8.2f} {min(seconds):8.2f} {max(seconds):8.2f} {moved:9.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
