"""The relay for name servers that only the host can reach: it listens inside the node, asks on the host, and ends with the node.

Runs on the host as `dnsrelay.py <machine directory> <pid of the node> <address in the node> <server> …`. Nothing listens on an
address of the host: the two listening sockets are made in the node's network namespace, those that ask in the host's. Standard library
only. It reads nothing but the number of a question, and runs as nobody.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence

Server = tuple[str, int]
NOBODY = 65534
PATIENCE = 3.0  # seconds for one server, before the next is asked
IDLE = 30.0
AT_ONCE = 256


def listen(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket, in the network namespace of the caller."""
    ip_freebind = 15  # the node gives itself the address a moment later
    sockets = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        made = socket.socket(socket.AF_INET, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_IP, ip_freebind, 1)
        made.bind((address, port))
        made.setblocking(False)
        sockets.append(made)
    sockets[1].listen(AT_ONCE)
    return sockets[0], sockets[1]


class Question(asyncio.DatagramProtocol):
    """One question to one server."""

    def __init__(self, data: bytes) -> None:
        self.data, self.answer = data, asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.sendto(self.data)  # type: ignore[attr-defined]

    def datagram_received(self, data: bytes, _address: object) -> None:
        if data[:2] == self.data[:2] and not self.answer.done():
            self.answer.set_result(data)

    def error_received(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Questions(asyncio.DatagramProtocol):
    """Everything the node asks over UDP."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers, self.tasks = servers, set[asyncio.Task[None]]()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, client: object) -> None:
        if len(data) >= 12 and len(self.tasks) < AT_ONCE:
            task = asyncio.create_task(self._answer(data, client))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _answer(self, data: bytes, client: object) -> None:
        # Nobody answers: say so (SERVFAIL), so that whoever asks does not wait for nothing.
        answer = data[:2] + bytes((data[2] | 0x80, data[3] & 0xF0 | 2)) + data[4:]
        for server in self.servers:
            try:
                answer = await asyncio.wait_for(_ask(data, server), PATIENCE)
                break
            except (OSError, TimeoutError):
                continue
        self.transport.sendto(answer, client)  # type: ignore[attr-defined]


async def _ask(data: bytes, server: Server) -> bytes:
    transport, question = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Question(data), remote_addr=server)
    try:
        return bytes(await question.answer)
    finally:
        transport.close()


async def _pass_on(servers: Sequence[Server], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One TCP connection, to the first server that takes it."""
    try:
        for host, port in servers:
            try:
                back, forth = await asyncio.wait_for(asyncio.open_connection(host, port), PATIENCE)
                break
            except (OSError, TimeoutError):
                continue
        else:
            return
        await asyncio.gather(_pump(reader, forth), _pump(back, writer))
    finally:
        writer.close()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await asyncio.wait_for(source.read(1 << 16), IDLE):
            target.write(data)
            await target.drain()
    except (OSError, TimeoutError):
        pass
    finally:
        target.close()


async def serve(sockets: tuple[socket.socket, socket.socket], servers: Sequence[Server], until: Callable[[asyncio.Event], None]) -> None:
    """Relay until the event that `until` was given is set."""
    over = asyncio.Event()
    until(over)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Questions(servers), sock=sockets[0])
    await asyncio.start_server(lambda reader, writer: _pass_on(servers, reader, writer), sock=sockets[1])
    await over.wait()


def main(argv: list[str]) -> None:
    node, address, servers = int(argv[2]), argv[3], [(server, 53) for server in argv[4:]]
    life = os.pidfd_open(node)
    with open("/proc/self/ns/net") as here, open(f"/proc/{node}/ns/net") as there:  # noqa: PTH123
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(there.fileno(), 0):
            sys.exit(f"no way into the node's network: {os.strerror(ctypes.get_errno())}")
        sockets = listen(address, 53)
        if libc.setns(here.fileno(), 0):
            sys.exit(f"no way back from the node's network: {os.strerror(ctypes.get_errno())}")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.write(1, b"ready\n")
    os.close(1)
    # A guard and a worker: whichever is killed, names can be looked up. Both end when the node does.
    while (worker := os.fork()) and os.waitpid(worker, 0)[1]:
        time.sleep(0.2)
    if worker == 0:
        asyncio.run(serve(sockets, servers, lambda over: asyncio.get_running_loop().add_reader(life, over.set)))


if __name__ == "__main__":
    main(sys.argv)
