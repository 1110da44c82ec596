"""Whether a control group is paused. Apart from cgroups.py because `status` asks, and that must stay quick to load."""

from __future__ import annotations

_ROOT = "/sys/fs/cgroup"


def is_frozen(path: str) -> bool:
    """True while the whole group is paused."""
    state = _read(f"{_ROOT}{path}/cgroup.freeze")  # v2
    if state is not None:
        return state == "1"
    state = _read(f"{_ROOT}/freezer{path}/freezer.state")  # v1
    return state is not None and state != "THAWED"


def _read(file: str) -> str | None:
    try:
        with open(file, encoding="ascii") as stream:  # noqa: PTH123
            return stream.read().strip()
    except OSError:
        return None
