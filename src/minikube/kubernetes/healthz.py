"""Does the API server answer? Asked by `status` on every call, so with a bare socket: no client library is loaded for it."""

from __future__ import annotations


def is_healthy(profile: str, address: str, port: int, *, timeout: float = 2.0) -> bool:
    """Whether https://address:port/readyz says ok and shows a certificate of our authority. Everybody may ask that."""
    import socket
    import ssl

    from minikube.profiles.paths import home

    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(home() / "ca.crt")
        with (
            socket.create_connection((address, port), timeout=timeout) as plain,
            context.wrap_socket(plain, server_hostname=address) as secure,
        ):
            secure.sendall(
                f"GET /readyz HTTP/1.1\r\nHost: {address}\r\nUser-Agent: minikube/{profile}\r\nConnection: close\r\n\r\n".encode()
            )
            return secure.recv(64).split(b" ", 2)[1:2] == [b"200"]
    except (OSError, ValueError):
        return False
