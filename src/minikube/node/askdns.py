"""Ask a DNS server for an address until it has one. Runs in the node, with the standard library alone:

    python3 -I -S askdns.py <server> <name> <seconds>

Prints when the answer came (unix time), and ends with 1 if none did. Pods are Ready a moment before the rules that lead to them are there.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

_ANSWER_SECONDS = 0.1
_PAUSE_SECONDS = 0.02


def main(server: str, name: str, seconds: float) -> int:
    question = query(name)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as asker:
                asker.settimeout(_ANSWER_SECONDS)
                asker.sendto(question, (server, 53))
                if answers(asker.recv(512)):
                    print(time.time())
                    return 0
        except OSError:
            pass
        time.sleep(_PAUSE_SECONDS)
    return 1


def query(name: str) -> bytes:
    """A question for the IPv4 address of a name."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def answers(message: bytes) -> bool:
    """Whether there is an answer in it."""
    return len(message) >= 12 and struct.unpack(">H", message[6:8])[0] > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
