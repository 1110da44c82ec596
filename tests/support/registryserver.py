"""A real container registry (distribution) on loopback, compiled into the store once, and a way to put images into it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikube.artifacts.gocomponents import GoComponent, Program
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.store import Store
from minikube.output.progress import silent

_SOURCES = Path(__file__).parent / "servers"
_STORE = Store()  # the machine's, also for tests that have one of their own
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
# For half a minute, as it may have to be done in another network.
_CONNECT = """\
import socket, sys, time
for _ in range(600):
    with socket.socket() as attempt:
        if attempt.connect_ex((sys.argv[1], int(sys.argv[2]))) == 0:
            sys.exit()
    time.sleep(0.05)
sys.exit(1)
"""


def htpasswd(directory: Path) -> dict[str, Any]:
    """The configuration of a registry that knows `me` with the password `secret`."""
    file = directory / "htpasswd"
    file.write_text("me:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n")
    return {"htpasswd": {"realm": "test", "path": str(file)}}


def provide_registry() -> Path:
    """The program; the first time it takes a minute or two to compile."""
    component = GoComponent("test-registry", "v3.1.2", (Program("minikube.test/registry", "registry"),), wrappers=_SOURCES)
    return _STORE.provide(go_recipe(component, _STORE), silent()) / "registry"


@contextmanager
def registry_server(
    directory: Path,
    *,
    host: str = "",
    enter: Sequence[str] = (),
    auth: dict[str, Any] | None = None,
    tls: dict[str, str] | None = None,
) -> Iterator[str]:
    """Gives `address:port`; what is pushed lives in the directory. `auth` and `tls` are distribution's own configuration for it.

    `enter` is the way into another network, where `host` says at which address and port it is to listen.
    """
    program = provide_registry()
    if not host:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            host = f"127.0.0.1:{free.getsockname()[1]}"
    directory.mkdir(parents=True, exist_ok=True)
    configuration = {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(directory / "data")}, "delete": {"enabled": True}},
        "http": {"addr": host, **({"tls": tls} if tls else {})},
        **({"auth": auth} if auth else {}),
    }
    (directory / "registry.json").write_text(json.dumps(configuration))  # JSON is YAML
    with (directory / "registry.log").open("wb") as log:
        process = subprocess.Popen([*enter, program, "serve", directory / "registry.json"], stdout=log, stderr=log)
    try:
        asked = subprocess.run([*enter, sys.executable, "-c", _CONNECT, *host.split(":")], check=False)
        assert asked.returncode == 0, f"the registry did not come up: {(directory / 'registry.log').read_text()}"
        yield host
    finally:
        process.terminate()
        process.wait(timeout=30)


class Pusher:
    """Uploads blobs and manifests as the OCI distribution protocol has it, in one request each."""

    def __init__(self, host: str) -> None:
        self.base = f"http://{host}/v2"
        self._repositories: dict[str, str] = {}

    def layout(self, directory: Path) -> dict[str, str]:
        """Everything in an OCI layout under the names its index gives (`host/name:tag`, the host left out); digests by name."""
        pushed = {}
        for entry in json.loads((directory / "index.json").read_text())["manifests"]:
            repository, _, tag = entry["annotations"]["io.containerd.image.name"].partition("/")[2].rpartition(":")
            body = self._blob_file(directory, entry["digest"]).read_bytes()
            manifest = json.loads(body)
            for blob in (manifest["config"], *manifest["layers"]):
                self.blob(repository, blob["digest"], self._blob_file(directory, blob["digest"]))
            pushed[f"{repository}:{tag}"] = self.manifest(repository, tag, body, MANIFEST)
        return pushed

    def blob(self, repository: str, digest: str, file: Path) -> None:
        known = self._repositories.setdefault(digest, repository)
        mount = f"?mount={digest}&from={known}" if known != repository else ""
        begun = self._ask("POST", f"{self.base}/{repository}/blobs/uploads/{mount}")
        if begun.status == 201:
            return
        place = begun.headers["Location"]
        with file.open("rb") as content:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.stat().st_size)}
            self._ask("PUT", f"{place}{'&' if '?' in place else '?'}digest={digest}", content, headers)

    def manifest(self, repository: str, reference: str, body: bytes, media_type: str) -> str:
        answer = self._ask("PUT", f"{self.base}/{repository}/manifests/{reference}", body, {"Content-Type": media_type})
        return str(answer.headers["Docker-Content-Digest"])

    def _ask(self, method: str, url: str, data: Any = None, headers: dict[str, str] | None = None) -> Any:
        request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return answer

    @staticmethod
    def _blob_file(directory: Path, digest: str) -> Path:
        return directory / "blobs" / digest.replace(":", "/")
