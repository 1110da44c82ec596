"""A small DNS server that knows a few names; UDP and TCP."""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys
import threading
from collections.abc import Mapping


def answer(query: bytes, names: Mapping[str, str]) -> bytes:
    """The response to a query with one question: an A record, or NXDOMAIN; other types of a known name have no record."""
    name, position = [], 12
    while length := query[position]:
        name.append(query[position + 1 : position + 1 + length].decode().lower())
        position += length + 1
    question, kind = query[12 : position + 5], struct.unpack("!H", query[position + 1 : position + 3])[0]
    known = names.get(".".join(name))
    records = b""
    if known and kind == 1:
        records = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + ipaddress.IPv4Address(known).packed
    flags = 0x8580 | (0 if known else 3)
    return query[:2] + struct.pack("!HHHHH", flags, 1, 1 if records else 0, 0, 0) + question + records


def question(name: str, number: int = 7) -> bytes:
    labels = b"".join(bytes((len(label),)) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", number, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1)


def serve(address: str, port: int, names: Mapping[str, str]) -> int:
    """Answer until the process ends, in threads; gives the port."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, port))
    port = udp.getsockname()[1]
    tcp = socket.create_server((address, port))

    def datagrams() -> None:
        while True:
            query, client = udp.recvfrom(4096)
            udp.sendto(answer(query, names), client)

    def connections() -> None:
        while True:
            connection, _ = tcp.accept()
            with connection:
                query = connection.recv(4096)[2:]
                response = answer(query, names)
                connection.sendall(struct.pack("!H", len(response)) + response)

    for work in (datagrams, connections):
        threading.Thread(target=work, daemon=True).start()
    return port


if __name__ == "__main__":  # nameserver.py ADDRESS name=address …
    serve(sys.argv[1], 53, dict(word.split("=") for word in sys.argv[2:]))
    print("ready", flush=True)
    threading.Event().wait()
