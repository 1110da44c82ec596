"""The pause program, which holds a pod's namespaces: one C file inside the Kubernetes module."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from minikube.artifacts.followed import follow
from minikube.artifacts.gobuilderrors import why_go_failed
from minikube.artifacts.gocomponents import goarch, kubernetes_wrappers
from minikube.artifacts.gotoolchain import find_go, go_environment
from minikube.artifacts.store import Recipe, Store
from minikube.host.process import ProcessFailed, run
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_SOURCE = "build/pause/linux/pause.c"


def pause_recipe(version: str, kubernetes: str, store: Store) -> Recipe:
    """`content/pause`, static, compiled with upstream's flags."""
    wrapper = kubernetes_wrappers(kubernetes) / f"kubernetes-{kubernetes}"
    flags = ("-Os", "-Wall", "-static", f"-DVERSION=v{version}")
    pin = next(line for line in (wrapper / "go.sum").read_text().splitlines() if line.startswith(f"k8s.io/kubernetes {kubernetes} h1:"))

    def build(target: Path, progress: Progress) -> None:
        module = _module_directory(kubernetes, pin, store, target.parent / "source", progress)
        try:
            run(["gcc", *flags, "-o", os.fspath(target / "pause"), os.fspath(module / _SOURCE)])
        except ProcessFailed as error:
            raise Reason("MK_COMPONENT_BUILD", f"pause {version} could not be compiled: {error}", exit_code=10) from error

    return Recipe(
        name=f"pause-{version}",
        identity=f"{pin} {flags} {goarch()}",
        build=build,
        after=(f"kubernetes-{kubernetes}",),
        host_packages=("gcc", "libc6-dev"),
        estimate_seconds=2,
        what=f"pause {version}",
    )


def _module_directory(kubernetes: str, pin: str, store: Store, scratch: Path, progress: Progress) -> Path:
    """The unpacked Kubernetes module, checked by Go against the pinned line of go.sum."""
    scratch.mkdir()
    (scratch / "go.mod").write_text(f"module minikube.local/pause\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes {kubernetes}\n")
    (scratch / "go.sum").write_text(pin + "\n")
    log = store.log("pause")
    argv = [find_go(store, progress), "mod", "download", "-json", f"k8s.io/kubernetes@{kubernetes}"]
    code, said = follow(argv, env=go_environment(store), cwd=scratch, log=log, on_line=lambda _line: None)
    if code:
        raise why_go_failed(f"pause of Kubernetes {kubernetes}", said, log)
    shutil.rmtree(scratch)
    return store.root / "go" / "mod" / "k8s.io" / f"kubernetes@{kubernetes}"
