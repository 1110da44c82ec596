"""The outcome of every fault that was tried: runs, survived, lost."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# `make faults` sets both; without them every fault of the short form is tried once, and the table is only printed.
RUNS = int(os.environ.get("FAULT_RUNS", "0"))
FILE = os.environ.get("FAULT_TABLE", "")
# On a busy machine: how many of the variants of each fault are tried, chosen anew each time. All of them, unless it is set.
SAMPLE = int(os.environ.get("FAULT_SAMPLE", "0"))
# In several sittings: "2/3" is the second third of the moments of each command.
SITTING, SITTINGS = (int(number) for number in os.environ.get("FAULT_PART", "1/1").split("/"))


def of_this_sitting(moments: Sequence[str]) -> Sequence[str]:
    return moments[SITTING - 1 :: SITTINGS]


def sampled(variants: Sequence[str]) -> list[str]:
    return random.sample(variants, min(SAMPLE, len(variants))) if SAMPLE else list(variants)


class Table:
    def __init__(self) -> None:
        self._runs: dict[str, list[str]] = defaultdict(list)

    @contextmanager
    def run(self, fault: str) -> Iterator[None]:
        """One run of a fault; whatever is raised in it means that it was not survived."""
        try:
            yield
        except BaseException as error:
            self._runs[fault].append(str(error).strip().splitlines()[0][:80] if str(error).strip() else type(error).__name__)
            raise
        else:
            self._runs[fault].append("")
        finally:
            if FILE:
                Path(FILE).write_text(self.text() + "\n")

    def text(self) -> str:
        lines = ["| fault | runs | survived | lost |", "|---|---|---|---|"]
        for fault, outcomes in self._runs.items():
            failures = [outcome for outcome in outcomes if outcome]
            lines.append(
                f"| {fault} | {len(outcomes)} | {len(outcomes) - len(failures)} | {'; '.join(dict.fromkeys(failures)) or 'nothing'} |"
            )
        return "\n".join(lines)

    def __bool__(self) -> bool:
        return bool(self._runs)


TABLE = Table()
