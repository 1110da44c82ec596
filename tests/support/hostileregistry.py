"""A registry, mirror or token server on loopback that answers whatever it is told to."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from minikube.artifacts.ocidocuments import CONFIG, INDEX, LAYER, MANIFEST


class Answer(NamedTuple):
    body: bytes = b""
    media_type: str = "application/octet-stream"
    status: int = 200
    headers: Mapping[str, str] = {}
    endless: bool = False
    """The body, again and again, until the client hangs up."""


Decide = Callable[[str, Mapping[str, str]], Answer]
"""The answer to a request for a path with these headers."""


class HostileRegistry:
    """`answers` by path. Requests are kept: path and headers."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.otherwise: Decide = lambda _path, _headers: Answer(status=404)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.sent = 0
        self.host = ""

    def blob(self, content: bytes, *, called: str = "") -> str:
        """Serve a blob; what it is called is its digest, or anything else."""
        digest = called or digest_of(content)
        self.answers[f"/v2/app/blobs/{digest}"] = Answer(content)
        return digest

    def manifest(self, content: Mapping[str, Any] | bytes, *, called: str = "1", media_type: str = MANIFEST) -> str:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        for name in (called, digest_of(body)):
            self.answers[f"/v2/app/manifests/{name}"] = Answer(body, media_type)
        return digest_of(body)

    def image(self, layers: list[dict[str, Any]], diff_ids: list[str], *, architecture: str, **changes: Any) -> dict[str, Any]:
        """The manifest of an image with these layers; its configuration is served."""
        config = json.dumps({"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": diff_ids}}).encode()
        described = {"mediaType": CONFIG, "digest": self.blob(config), "size": len(config)}
        return {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": layers} | changes


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def layer(content: bytes, **changes: Any) -> dict[str, Any]:
    return {"mediaType": LAYER, "digest": digest_of(content), "size": len(content)} | changes


def index(*digests: str, architecture: str) -> dict[str, Any]:
    entries = [
        {"mediaType": MANIFEST, "digest": digest, "size": 1, "platform": {"os": "linux", "architecture": architecture}}
        for digest in digests
    ]
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Clients hang up."""


@contextmanager
def hostile_registry() -> Iterator[HostileRegistry]:
    registry = HostileRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            registry.requests.append((self.path, dict(self.headers)))
            answer = registry.answers.get(path) or registry.otherwise(path, dict(self.headers))
            self.send_response(answer.status)
            headers = {"Content-Type": answer.media_type, **answer.headers}
            if answer.endless:
                self.close_connection = True
            else:
                headers = {"Content-Length": str(len(answer.body)), **headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            while True:
                self.wfile.write(answer.body)
                registry.sent += len(answer.body)
                if not answer.endless:
                    return

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        registry.host = f"127.0.0.1:{server.server_address[1]}"
        try:
            yield registry
        finally:
            server.shutdown()
