"""The relay's own work, on loopback."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from support import nameserver

from minikube.network import dnsrelay

NAMES = {"only.here.test": "192.0.2.55"}


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A relay whose first server is dead."""
    monkeypatch.setattr(dnsrelay, "PATIENCE", 1.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        dead = unused.getsockname()[1]
    sockets = dnsrelay.listen("127.0.0.1", 0)
    tcp = socket.create_server(("127.0.0.1", sockets[0].getsockname()[1]))
    tcp.setblocking(False)
    sockets[1].close()
    servers = [("127.0.0.1", dead), ("127.0.0.1", nameserver.serve("127.0.0.1", 0, NAMES))]
    ended = threading.Event()

    def until(over: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=lambda: ended.wait() and loop.call_soon_threadsafe(over.set), daemon=True).start()

    thread = threading.Thread(target=lambda: asyncio.run(dnsrelay.serve((sockets[0], tcp), servers, until)), daemon=True)
    thread.start()
    yield sockets[0].getsockname()
    ended.set()
    thread.join(10)
    assert not thread.is_alive()


def test_a_question_finds_the_server_that_answers(relay: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        for number in range(50):
            client.sendto(nameserver.question("only.here.test", number), relay)
        answers = [client.recv(512) for _ in range(50)]
    assert {struct.unpack("!H", answer[:2])[0] for answer in answers} == set(range(50))
    assert all(answer.endswith(socket.inet_aton("192.0.2.55")) for answer in answers)


def test_the_same_over_tcp(relay: tuple[str, int]) -> None:
    query = nameserver.question("only.here.test")
    with socket.create_connection(relay, timeout=10) as client:
        client.sendall(struct.pack("!H", len(query)) + query)
        answer = client.recv(512)
    assert answer.endswith(socket.inet_aton("192.0.2.55"))


def test_when_nobody_answers_it_says_so_at_once() -> None:
    query = nameserver.question("any.test")

    class Sent:
        data = b""

        def sendto(self, data: bytes, _client: object) -> None:
            self.data = data

    async def ask() -> bytes:
        questions, sent = dnsrelay.Questions([]), Sent()
        questions.transport = sent  # type: ignore[assignment]
        await questions._answer(query, None)
        return sent.data

    answer = asyncio.run(ask())
    assert answer[:2] == query[:2]
    assert answer[2] & 0x80
    assert answer[3] & 0x0F == 2  # SERVFAIL
