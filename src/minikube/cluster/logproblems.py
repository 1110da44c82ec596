"""Which lines of a cluster's logs point to a problem, for `logs --problems`.

Components say themselves how bad a line is, each in its own form. What every healthy start and stop complains of is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# What a container's log file puts before each line.
_CRI = re.compile(r"^\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] ")
# klog, etcd's JSON, containerd's logfmt, CoreDNS: the severity is the first group.
_SEVERITIES = (
    re.compile(r"^([IWEF])\d{4} \d\d:\d\d:\d\d"),
    re.compile(r'^\{"level":"(\w+)"'),
    re.compile(r'^time="[^"]*" level=(\w+)'),
    re.compile(r"^\[(INFO|WARNING|ERROR|FATAL|PANIC)\]"),
)
_BAD = frozenset({"e", "f", "error", "fatal", "panic", "dpanic"})
# For lines without a severity: the kernel's, a program that ends with its last words, the table of containers.
_WORDS = re.compile(r"\b(panic|fatal|error|failed|unable to|denied|refused|out of memory|oom-kill|CrashLoopBackOff)", re.IGNORECASE)
_HARMLESS = re.compile(
    "|".join(
        (
            r"mirror pod",  # a kubelet older than its API server
            r'node \\?"[^"]*\\?" not found',  # ... and its node not registered yet
            r"Failed to ensure lease exists, will retry",
            r"embedded etcd failed.*[cC]losed",  # etcd's way to stop
            r"failed to update storage version.*missing term information",  # an etcd that is seconds old
            r"finished without leader elect",  # the controller manager's way to stop
            r"Failed to list existing sets.*no such file",  # kube-proxy's first look at a new node
            r"Failed to set rlimit on max file handles",
            r"Stopped receiving OOM notifications",  # the kernel's log is the host's
            r"Failed to read data from checkpoint.*not found",
            r"no imagefs label for configured runtime",
            r"container runtime status check may not have completed yet",
            r"The manifest file is empty, ignoring",
            r"^\s+\w+:",  # configuration that a component tells when it starts
            r"Registration of the \w+ container factory failed",
        )
    )
)


def problems(lines: Iterable[str]) -> list[str]:
    """The lines worth a look."""
    return [line for line in lines if _points_to_problem(line)]


def _points_to_problem(line: str) -> bool:
    text = _CRI.sub("", line)
    if _HARMLESS.search(text):
        return False
    for pattern in _SEVERITIES:
        if found := pattern.match(text):
            return found[1].lower() in _BAD
    return bool(_WORDS.search(text))
