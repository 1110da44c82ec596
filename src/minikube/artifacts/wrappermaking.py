"""A wrapper for a Kubernetes version that has none: its modules resolved by Go, with the checksum of each."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts.catalogue import DEFAULT, available
from minikube.artifacts.followed import follow
from minikube.artifacts.gobuilderrors import telling_line, why_go_failed
from minikube.artifacts.gocomponents import MEMORY, OWN, WRAPPERS
from minikube.artifacts.gotoolchain import find_go, go_environment
from minikube.artifacts.store import Store
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_MODULE = "k8s.io/kubernetes"
_NO_SUCH_VERSION = re.compile(r"unknown revision|invalid version|404 Not Found|410 Gone|403 Forbidden|no matching versions|no such file or")


class Asked(NamedTuple):
    """The versions a kubeadm asks for."""

    etcd: str
    coredns: str
    pause: str


def versions(store: Store, progress: Progress) -> list[str]:
    """Every release that the source of Go modules lists, release candidates left out."""
    said = _go(["list", "-m", "-versions", _MODULE], _MODULE, store, progress)
    return [word for word in " ".join(said).split() if re.fullmatch(r"v\d+\.\d+\.\d+", word)]


def make(version: str, directory: Path, store: Store, progress: Progress) -> Asked:
    """Fill `directory` with go.mod, go.sum and main.go; gives what the version's kubeadm asks for."""
    source = _download(version, store, progress)
    # The main program has been the same for years, but for what upstream's own mains are made of.
    newest = (WRAPPERS / f"kubernetes-{DEFAULT.kubernetes}" / "main.go").read_text()
    (directory / "main.go").write_text(main_program(newest, source))
    (directory / "go.mod").write_text(_requirements(version, (source / "go.mod").read_text()))
    shared = directory / "memory"  # which every build adds by itself
    shared.mkdir()
    shutil.copy(MEMORY, shared)
    _go(["mod", "tidy"], f"Kubernetes {version}", store, progress, directory=directory)
    shutil.rmtree(shared)
    return _asked(source)


def main_program(newest: str, source: Path) -> str:
    """The newest main program, in the words of an older version: read off upstream's own."""
    text = newest
    if "NewKubeletCommand(context" not in (source / "cmd/kubelet/kubelet.go").read_text():
        text = text.replace("NewKubeletCommand(context.Background())", "NewKubeletCommand()").replace('\t"context"\n', "")
    kubeadm = (source / "cmd/kubeadm/kubeadm.go").read_text()
    package, call = re.search(r'"(\S+/app/util\S*)"', kubeadm), re.search(r"\.(\w+)\(app\.Run\(\)\)", kubeadm)
    if package and call:
        text = text.replace('"k8s.io/kubernetes/cmd/kubeadm/app/util/errors"', f'"{package[1]}"').replace("HandleError", call[1])
    return text


def _requirements(version: str, theirs: str) -> str:
    """go.mod before Go has completed it: upstream's own modules, which it keeps in one tree, are released as v0 beside it."""
    beside = "v0." + version.removeprefix("v").partition(".")[2]
    staged = re.findall(r"^\s*(?:replace\s+)?(k8s\.io/\S+) => \./staging/", theirs, re.MULTILINE)
    language = re.search(r"^go (\S+)$", theirs, re.MULTILINE)
    replacements = "".join(f"\t{module} => {module} {beside}\n" for module in staged)
    return (
        f"module {OWN}/kubernetes\n\ngo {language[1] if language else '1.26.0'}\n\n"
        f"require {_MODULE} {version}\n\nreplace (\n{replacements})\n"
    )


def _asked(source: Path) -> Asked:
    text = (source / "cmd/kubeadm/app/constants/constants.go").read_text()

    def constant(name: str) -> str:
        found = re.search(rf'\b{name}\s*=\s*"([^"]+)"', text)
        return found[1] if found else ""

    etcd = constant("DefaultEtcdVersion").partition("-")[0]
    return Asked(
        etcd=f"v{etcd}" if etcd else DEFAULT.etcd,
        coredns=constant("CoreDNSVersion") or DEFAULT.coredns,
        pause=constant("PauseVersion"),
    )


def _download(version: str, store: Store, progress: Progress) -> Path:
    said = _go(["mod", "download", "-json", f"{_MODULE}@{version}"], f"Kubernetes {version}", store, progress)
    answer = json.loads("\n".join(said[said.index("{") :]))
    return Path(answer["Dir"])


def _go(arguments: list[str], label: str, store: Store, progress: Progress, *, directory: Path | None = None) -> list[str]:
    """Run `go` beside a go.mod, of its own if none is given."""
    log = store.log("versions")
    with tempfile.TemporaryDirectory(prefix="minikube-modules.") as scratch:
        Path(scratch, "go.mod").write_text("module minikube.local/asking\n\ngo 1.26.0\n")
        command = [find_go(store, progress), *arguments]
        code, said = follow(command, env=go_environment(store), cwd=directory or Path(scratch), log=log, on_line=lambda _line: None)
    if not code:
        return said
    answer = telling_line(said, _NO_SUCH_VERSION)
    if answer and directory is None:
        raise Reason(
            "INET_VERSION_UNAVAILABLE",
            f"{label} is not to be had from the source of Go modules: {answer}",
            advice=f"Use another version (pinned: {available()}), or set GOPROXY to a source that has it. Details: {log}",
        )
    raise why_go_failed(label, said, log)
