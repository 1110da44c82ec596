"""Web servers on loopback: one that serves a directory as a good server does, or badly, as told; and a proxy that wants a password."""

from __future__ import annotations

import base64
import hashlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Fault = Callable[["Handler", bytes], None]
"""Answers one request for a file in a way of its own."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what some tests are about."""


class FileServer:
    """Serves the files below a directory, with ranges and ETags. `faults` are used up, one for each request of the path."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.faults: dict[str, list[Fault]] = {}
        self.requests: list[tuple[str, str]] = []
        """Path and Range of each."""
        self.bytes_sent = 0
        self.url = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: FileServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.files.requests.append((path, self.headers.get("Range", "")))
        fault = self.files.faults.get(path)
        file = self.files.directory / path.lstrip("/")
        content = file.read_bytes() if file.is_file() else None
        if fault:
            fault.pop(0)(self, content or b"")
        elif content is None:
            self.send_error(404)
        else:
            self.serve(content)

    do_HEAD = do_GET

    def serve(self, content: bytes) -> None:
        """As it should be."""
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        wanted = self.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
        first = int(wanted) if wanted and self.headers.get("If-Range", tag) == tag else 0
        if first and first >= len(content):
            self.begin(416, 0, {"Content-Range": f"bytes */{len(content)}"})
            return
        extra = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"} if first else {}
        self.begin(206 if first else 200, len(content) - first, {"ETag": tag, **extra})
        self.send(content[first:])

    def begin(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def send(self, data: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(data)
            self.files.bytes_sent += len(data)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        pass


def well(handler: Handler, content: bytes) -> None:
    handler.serve(content)


def cut(handler: Handler, content: bytes) -> None:
    """Hangs up after a third of what was asked for; takes part requests."""
    wanted = handler.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
    first = int(wanted or 0)
    extra = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"} if first else {}
    handler.begin(206 if first else 200, len(content) - first, extra)
    handler.send(content[first : first + len(content) // 3])
    handler.hang_up()


def refuse(handler: Handler, _content: bytes) -> None:
    """Hangs up without a word."""
    handler.hang_up()


def without_ranges(handler: Handler, content: bytes) -> None:
    handler.begin(200, len(content), {})
    handler.send(content)


def another_part(handler: Handler, content: bytes) -> None:
    handler.begin(206, len(content) - 7, {"Content-Range": f"bytes 7-{len(content) - 1}/{len(content)}"})
    handler.send(content[7:])


def says_more(handler: Handler, content: bytes) -> None:
    handler.begin(200, len(content) + 1000, {})
    handler.send(content)
    handler.hang_up()


def says_less(handler: Handler, content: bytes) -> None:
    handler.begin(200, len(content) - 1000, {"Connection": "close"})
    handler.send(content)
    handler.hang_up()


def says_nothing(handler: Handler, content: bytes) -> None:
    """No length at all: the end of the connection is the end of the file."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.send(content)
    handler.hang_up()


def wrong_bytes(handler: Handler, content: bytes) -> None:
    handler.serve(content[:-5] + b"wrong")


def stall(handler: Handler, content: bytes) -> None:
    """Half of it, then silence."""
    handler.begin(200, len(content), {})
    handler.send(content[: len(content) // 2])
    time.sleep(3)
    handler.hang_up()


def trickle(handler: Handler, content: bytes) -> None:
    """A byte now and then."""
    handler.begin(200, len(content), {})
    for number in range(60):
        handler.send(content[number : number + 1])
        time.sleep(0.05)
    handler.hang_up()


def status(code: int, **headers: str) -> Fault:
    def answer(handler: Handler, _content: bytes) -> None:
        handler.begin(code, 0, {name.replace("_", "-"): value for name, value in headers.items()})

    return answer


@contextmanager
def file_server(directory: Path, *, certificate: Path | None = None) -> Iterator[FileServer]:
    """With a certificate it speaks HTTPS."""
    files = FileServer(directory)
    handler = type("Bound", (Handler,), {"files": files})
    with _Listener(("127.0.0.1", 0), handler) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        files.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
        try:
            yield files
        finally:
            server.shutdown()


class Proxy:
    """What a proxy was asked for, and where it is."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0


@contextmanager
def password_proxy(user: str, password: str, upstream: Callable[[str], tuple[str, int]]) -> Iterator[Proxy]:
    """A proxy that lets through only with that name and password. `upstream` says where a host really is: names need not exist."""
    proxy = Proxy()
    expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def allowed(self) -> bool:
            if self.headers.get("Proxy-Authorization") == expected:
                return True
            self.send_response(407)
            self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False

        def do_CONNECT(self) -> None:
            if not self.allowed():
                return
            proxy.asked.append(f"CONNECT {self.path}")
            with socket.create_connection(upstream(self.path)) as far:
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                self.pump(far)

        def do_GET(self) -> None:
            if not self.allowed():
                return
            proxy.asked.append(f"GET {self.path}")
            host, _, path = self.path.removeprefix("http://").partition("/")
            with socket.create_connection(upstream(host)) as far:
                kept = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items() if not name.lower().startswith("proxy-"))
                far.sendall(f"GET /{path} HTTP/1.1\r\n{kept}Connection: close\r\n\r\n".encode())
                self.close_connection = True
                self.pump(far)

        def pump(self, far: socket.socket) -> None:
            ends = {far: self.connection, self.connection: far}
            while True:
                for source in select.select(list(ends), [], [], 30)[0]:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    ends[source].sendall(data)

        def log_message(self, *_: object) -> None:
            pass

    with _Listener(("127.0.0.1", 0), Between) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        proxy.port = server.server_address[1]
        try:
            yield proxy
        finally:
            server.shutdown()
