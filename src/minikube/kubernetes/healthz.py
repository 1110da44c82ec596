"""Does the API server answer? Asked by `status` on every call, so with the C halves of socket and ssl: no more is loaded for it."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    import _socket

# Whether an API server is ready, but for two hooks of its start. Those begin with a second's wait, and then look whether roles and
# priority classes are there, which a cluster has had from its first moment (see seeding.py).
WELL = "/readyz?exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes"
_TLS_CLIENT = 16  # ssl.PROTOCOL_TLS_CLIENT: certificates and names are checked


def is_healthy(profile: str, address: str, port: int, *, timeout: float = 2.0) -> bool:
    """Whether https://address:port says that it is well and shows a certificate of the cluster's authority. Everybody may ask that."""
    from minikube.profiles.paths import authority_text

    question = f"GET {WELL} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: minikube/{profile}\r\nConnection: close\r\n\r\n".encode()
    try:
        answer = _ask(address, port, question, authority=authority_text(profile), timeout=timeout)
    except (OSError, ValueError):
        return False
    return answer.split(b" ", 2)[1:2] == [b"200"]


def _ask(address: str, port: int, question: bytes, *, authority: str, timeout: float) -> bytes:
    import _socket

    class Socket(_socket.socket):
        """TLS keeps a weak reference, which the bare type cannot have."""

    plain = Socket(_socket.AF_INET6 if ":" in address else _socket.AF_INET, _socket.SOCK_STREAM)
    try:
        plain.settimeout(timeout)
        plain.connect((address, port))
        try:
            import _ssl

            context = _ssl._SSLContext(_TLS_CLIENT)
            context.load_verify_locations(authority)
            secure = context._wrap_socket(plain, False, address)  # type: ignore[attr-defined]
        except (ImportError, AttributeError, TypeError):  # a Python that has them under other names
            return _ask_slowly(plain, address, question, authority)
        secure.do_handshake()
        secure.write(question)
        return bytes(secure.read(64))
    finally:
        plain.close()


def _ask_slowly(plain: _socket.socket, address: str, question: bytes, authority: str) -> bytes:
    import socket
    import ssl

    context = ssl.create_default_context(cafile=authority)
    with context.wrap_socket(socket.socket(fileno=plain.detach()), server_hostname=address) as secure:
        secure.sendall(question)
        return secure.recv(64)
