"""kube-bench, the CIS benchmark's checks as a program: built from its Go module, and run in a node.

Some of its checks need `jq` and a shell that knows `[[`, which a node's /bin/sh does not: they are brought along.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.minikube import CLONE, Minikube

from minikube.artifacts.gotoolchain import find_go, go_environment
from minikube.artifacts.store import Store
from minikube.output.progress import silent
from minikube.profiles.paths import store

BENCHMARK = "cis-1.12"
# The last one asks kubectl several times for every pod.
TARGETS = ("master", "node", "etcd", "controlplane", "policies")
BUILD_SECONDS = 900


class Module(NamedTuple):
    """A program of a Go module, with the hash of the module's files."""

    path: str
    version: str
    sum: str
    package: str = "."


KUBE_BENCH = Module("github.com/aquasecurity/kube-bench", "v0.15.1", "h1:1+b9k6gHN45NuyU7PsW16tSQ0kyNx6O3Q/JXcriuiow=")
JQ = Module("github.com/itchyny/gojq", "v0.12.17", "h1:8av8eGduDb5+rvEdaOO+zQUjA04MS0m3Ps8HiD+fceg=", "./cmd/gojq")

SCRIPT = """\
mount --bind /bin/bash /bin/sh  # in a mount namespace of this script's own
export KUBECONFIG=/etc/kubernetes/admin.conf PATH=$PATH:$PWD
./kube-bench --config-dir cfg --config cfg/config.yaml --benchmark "$1" run --targets "$2" --json
"""
UNPACK_AND_RUN = "d=$(mktemp -d /opt/kube-bench.XXXXXX); cd $d; tar -x --no-same-owner && unshare --mount bash -e script {} {}; rm -r $d"


class Verdict(NamedTuple):
    """What kube-bench said: checks by their state."""

    totals: dict[str, int]
    checks: dict[str, list[str]]
    failed: str


def run_in(cluster: Minikube, targets: Sequence[str]) -> Verdict:
    """What kube-bench says in the node of this cluster."""
    said = json.loads(cluster.ssh(UNPACK_AND_RUN.format(BENCHMARK, ",".join(targets)), input=_archive()))
    checks: dict[str, list[str]] = {"PASS": [], "FAIL": [], "WARN": []}
    failed = []
    for check in _checks(said):
        checks[check["status"]].append(check["test_number"])
        if check["status"] == "FAIL":
            failed.append(f"{check['test_number']} {check['test_desc']}: {check['actual_value']}")
    totals = {name: said["Totals"][f"total_{name}"] for name in ("pass", "fail", "warn")}
    return Verdict(totals, checks, "\n".join(failed))


def documented() -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    """For each kind of cluster, the figures and the warnings in docs/security.md."""
    page = (CLONE / "docs/security.md").read_text()
    figures = {
        kind.strip("`"): {"pass": int(passed), "fail": int(failed), "warn": int(warned)}
        for kind, passed, failed, warned in re.findall(r"^\| (default|`--hardened`) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    }
    rows = re.findall(r"^\| (\d\.\d+\.\d+) \| (both|default) \| .+ \| .{5,} \|$", page, re.MULTILINE)
    warnings = {"default": [check for check, _ in rows], "--hardened": [check for check, kind in rows if kind == "both"]}
    return figures, warnings


def _checks(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in said["Controls"]:
        for group in part["tests"]:
            yield from group["results"]


def _archive() -> bytes:
    configuration = _source(KUBE_BENCH) / "cfg"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(_program(KUBE_BENCH), "kube-bench")
        archive.add(_program(JQ), "jq")
        script = tarfile.TarInfo("script")
        script.size = len(SCRIPT)
        archive.addfile(script, io.BytesIO(SCRIPT.encode()))
        archive.add(configuration / "config.yaml", "cfg/config.yaml")
        archive.add(configuration / BENCHMARK, f"cfg/{BENCHMARK}")
    return packed.getvalue()


def _program(module: Module) -> Path:
    """Compiled once for each store, which takes three minutes for kube-bench."""
    built = store() / "test-tools" / f"{module.path.rpartition('/')[2]}-{module.version}"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        fresh = built.with_suffix(f".{os.getpid()}")
        # In the module itself: then its own go.sum pins everything that it needs.
        _go("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", str(fresh), module.package, directory=_source(module))
        fresh.replace(built)
    return built


def _source(module: Module) -> Path:
    said = json.loads(_go("mod", "download", "-json", f"{module.path}@{module.version}", directory=Path("/")))
    assert said["Sum"] == module.sum, f"{module.path} {module.version} is not what it was: {said['Sum']}"
    return Path(said["Dir"])


def _go(*words: str, directory: Path) -> str:
    components = Store(store())
    environment = go_environment(components) | {"CGO_ENABLED": "0"}
    done = subprocess.run(
        [find_go(components, silent()), *words],
        cwd=directory, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
