"""A small HTTPS server with the manners of the API server: TLS with client certificates, JSON, 404, 409, watches."""

import json
import ssl
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Cluster:
    """What the server knows and what was asked of it."""

    def __init__(self) -> None:
        self.objects: dict[str, dict] = {}
        self.answers: dict[str, tuple[int, dict]] = {}
        self.raw: dict[str, Callable[[], Iterable[bytes]]] = {}  # whole answers, headers included
        self.requests: list[tuple[str, str, dict | None]] = []
        self.connections: set[object] = set()
        self.events: list[dict] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: Cluster

    def log_message(self, *_: object) -> None:
        pass

    def handle_request(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.cluster.requests.append((self.command, self.path, body))
        self.cluster.connections.add(self.client_address)
        if path in self.cluster.raw:
            return self.send(self.cluster.raw[path]())
        if path in self.cluster.answers:
            return self.reply(*self.cluster.answers[path])
        if "watch" in query:
            return self.stream()
        if self.command == "POST":
            place = f"{path}/{body['metadata']['name']}"
            if place in self.cluster.objects:
                return self.fail(409, "AlreadyExists")
            self.cluster.objects[place] = body
            return self.reply(201, body)
        if self.command == "PATCH":
            self.cluster.objects.setdefault(path, {}).update(body)
            return self.reply(200, self.cluster.objects[path])
        if self.command == "DELETE":
            return self.reply(200, {}) if self.cluster.objects.pop(path, None) else self.fail(404, "NotFound")
        if path in self.cluster.objects:
            return self.reply(200, self.cluster.objects[path])
        below = [obj for place, obj in self.cluster.objects.items() if place.rpartition("/")[0] == path]
        return self.reply(200, {"items": below}) if below or path.endswith("s") else self.fail(404, "NotFound")

    do_GET = do_POST = do_PATCH = do_DELETE = handle_request

    def send(self, pieces: Iterable[bytes]) -> None:
        try:
            for piece in pieces:
                self.wfile.write(piece)
        except OSError:  # the client has had enough
            self.close_connection = True

    def reply(self, status: int, content: dict) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fail(self, status: int, reason: str) -> None:
        self.reply(status, {"kind": "Status", "reason": reason, "message": f"it is {reason}"})

    def stream(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in self.cluster.events:
            data = json.dumps(event).encode() + b"\n"
            for piece in (data[:7], data[7:]):  # events do not arrive in whole lines
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")


def serve(cluster: Cluster, *, certificate: str, key: str, authority: str) -> ThreadingHTTPServer:
    handler = type("Bound", (Handler,), {"cluster": cluster})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()
    return server
