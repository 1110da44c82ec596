"""A certificate authority of somebody's own, and a server that shows a certificate of it."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Server(NamedTuple):
    port: int
    paths: list[str]
    """What it was asked for; nothing of an asker that does not trust it."""


class Authority:
    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._certificate(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, address: str, *names: str) -> bytes:
        """Certificate and key for a server, in one file's worth of PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subjects = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address)), *map(x509.DNSName, names)])
        certificate = self._certificate(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)]), key, subjects)
        secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return certificate.public_bytes(serialization.Encoding.PEM) + secret

    def _certificate(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(self._name, name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
        return builder.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())

    @contextmanager
    def server(self, directory: Path, address: str, *names: str) -> Iterator[Server]:
        """An HTTPS server on that address which answers every question with 404."""
        paths: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                paths.append(self.path)
                self.send_error(404)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """An asker that does not trust us hangs up: that is what tests want to see from its side."""

        file = directory / "server.pem"
        file.write_bytes(self.issue(address, *names))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        with Listener((address, 0), Handler) as server:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield Server(server.server_address[1], paths)
            finally:
                server.shutdown()
