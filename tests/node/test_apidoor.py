"""Who calls before the API server listens is served by it in the end, in a network namespace of the test's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.node import apidoor

SCRIPT = """
import socket, subprocess, sys, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
door = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], "8443"])
for _ in range(200):
    try:
        early = socket.create_connection(("127.0.0.1", 8443))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
early.sendall(b"hello")
server = socket.socket(socket.AF_INET6)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
server.bind(("::", 8443))
server.listen()
server.settimeout(20)
peer, _ = server.accept()
print(peer.recv(10).decode(), door.wait(20))
"""


@pytest.mark.skipif(not Path(apidoor.HAND_OVER).exists(), reason="this kernel (before 5.14) cannot hand waiting callers over")
def test_an_early_caller_is_handed_over():
    own_network = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    probe = subprocess.run([*own_network, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"no network namespace of our own here: {probe.stderr.decode().strip()}")
    command = [*own_network, sys.executable, "-c", SCRIPT, apidoor.__file__]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "hello 0\n", done.stderr
