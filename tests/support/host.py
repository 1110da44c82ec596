"""What a cluster may leave on the machine: looked at from outside, without asking minikube."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from support.minikube import CLONE, Minikube

from minikube.profiles.paths import store

CGROUPS = Path("/sys/fs/cgroup")
SYSCTLS = Path("/proc/sys")
# Counters and random numbers, not settings.
COUNTERS = re.compile(r"fs/|kernel/(random/|ns_last_pid|pty/nr|tainted)|net/netfilter/nf_conntrack_count|.*/gc_|dev/|.*/stable_secret")
FILE_ROOTS = ("/etc", "/usr", "/var", "/opt", "/srv", "/run", "/data", "/boot")
# In the homes of users only hidden files, and no deeper than ~/.kube/config: the rest is their own business.
USER_DEPTH = 2
NOT_OURS = ("/var/log", "/var/tmp", "/run/user", "/run/systemd", "/var/lib/systemd")


class Snapshot(NamedTuple):
    """Every field maps a name to what is worth comparing about it."""

    mounts: dict[str, str]
    links: dict[str, str]
    routes: dict[str, str]
    tables: dict[str, str]
    cgroups: dict[str, str]
    sysctls: dict[str, str]
    files: dict[str, str]


def snapshot(image: Path, *, ignored: Path) -> Snapshot:
    """The machine now. `image` is a node image, whose `ip` and `nft` are used; `ignored` is the place of the tests."""
    return Snapshot(
        mounts={line.split()[4]: line.partition(" - ")[2] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        links=links(image),
        routes={json.dumps(route, sort_keys=True): "" for route in _query(image, "ip", "-json", "route", "show", "table", "all")},
        tables=tables(image),
        cgroups=cgroups(),
        sysctls=dict(_sysctls()),
        files=dict(_files(ignored)),
    )


def differences(before: Snapshot, after: Snapshot, *, own: str) -> list[str]:
    """What is different, a line each, leaving out what carries the id of another cluster: those come and go as they like."""
    found = []
    for field, old, new in zip(Snapshot._fields, before, after, strict=True):
        for name in sorted(old.keys() | new.keys()):
            other = re.search(r"\bmk-([0-9a-f]{8})\b|/minikube/([0-9a-f]{8})\b", name)
            if (other and own not in other.groups()) or (field == "cgroups" and name.endswith("/minikube")):
                continue
            if field == "cgroups" and "/minikube" not in name:
                continue  # other software's: those come and go as well
            if field == "sysctls" and name not in old:
                continue  # of a kernel module that was loaded on demand
            if old.get(name) != new.get(name):
                found.append(f"{field}: {name}: {old.get(name, 'not there')} -> {new.get(name, 'not there')}")
    return found


def links(image: Path) -> dict[str, str]:
    return {link["ifname"]: f"{link['link_type']} {sorted(link['flags'])}" for link in _query(image, "ip", "-json", "link")}


def tables(image: Path) -> dict[str, str]:
    listed = subprocess.run(["chroot", str(image), "nft", "list", "tables"], capture_output=True, text=True, check=True)
    return dict.fromkeys(listed.stdout.splitlines(), "")


def cgroups() -> dict[str, str]:
    return {directory: "" for directory, _, _ in os.walk(CGROUPS)}


def traces(minikube: Minikube, image: Path) -> dict[str, list[str]]:
    """Everything of one machine that is on this host at the moment, by kind."""
    own = minikube.host_id
    return {
        "processes": processes(minikube),
        "links": [name for name in links(image) if own in name],
        "tables": [name for name in tables(image) if own in name],
        "cgroups": [name for name in cgroups() if own in name],
        "mounts": [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(minikube.machine) in line],
    }


def nothing(found: dict[str, list[str]]) -> bool:
    return not any(found.values())


def processes(minikube: Minikube) -> list[str]:
    """Processes in the machine's control group, or that work for its profile."""
    group, machine = f"/minikube/{minikube.host_id}", str(minikube.machine)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            places = [str((process / name).readlink()) for name in ("cwd", "root", "exe")]
            mine = group in (process / "cgroup").read_text() or any(place.startswith(machine) for place in places)
            if mine or machine in command or f"-p {minikube.profile}" in command:
                found.append(f"{process.name} {command}")
    return found


def listening_on_host(minikube: Minikube) -> list[str]:
    """Sockets of the host's own network on which a process of this machine waits for connections."""
    host = Path("/proc/self/ns/net").readlink()
    listening = {
        line.split()[9]
        for family in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    }
    found = []
    for entry in processes(minikube):
        process = Path("/proc", entry.split()[0])
        with contextlib.suppress(OSError):
            if (process / "ns/net").readlink() != host:
                continue
            sockets = {str(descriptor.readlink()) for descriptor in (process / "fd").iterdir()}
            found += [f"{entry}: {inode}" for inode in listening if f"socket:[{inode}]" in sockets]
    return found


def _query(image: Path, *words: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(subprocess.run(["chroot", str(image), *words], capture_output=True, check=True).stdout)
    return answer


def _sysctls() -> Iterator[tuple[str, str]]:
    for directory, _, names in os.walk(SYSCTLS):
        for name in names:
            path = Path(directory, name)
            relative = str(path.relative_to(SYSCTLS))
            if not COUNTERS.match(relative):
                with contextlib.suppress(OSError):
                    yield relative, path.read_text(errors="replace").strip()


def _files(ignored: Path) -> Iterator[tuple[str, str]]:
    skipped = {str(path) for path in (ignored, store(), CLONE, *map(Path, NOT_OURS))}
    for root in FILE_ROOTS:
        yield from _below(root, skipped, depth=100)
    for home in ("/root", *(entry.path for entry in os.scandir("/home") if entry.is_dir())):
        for path, what in _below(home, skipped, depth=USER_DEPTH):
            if path.startswith(f"{home}/."):
                yield path, what


def _below(top: str, skipped: set[str], *, depth: int) -> Iterator[tuple[str, str]]:
    """Without recursion: there are a hundred thousand files."""
    waiting = [(top, depth)]
    while waiting:
        directory, left = waiting.pop()
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield entry.path, f"{status.st_mode:o} {status.st_size} bytes {status.st_mtime_ns}"
            elif entry.path not in skipped:
                yield entry.path, f"directory {status.st_mode:o}"
                if left > 1:
                    waiting.append((entry.path, left - 1))
