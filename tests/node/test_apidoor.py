"""Who calls before the API server is well is served by it in the end, in a network namespace of the test's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.kubernetes.certificates import Identity, ensure_authorities, ensure_cluster_certificates
from minikube.kubernetes.healthz import WELL
from minikube.node import apidoor

BEGIN = """
import os, socket, ssl, subprocess, sys, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
directory, identity, place, question = sys.argv[1:]
name = f"test-{os.getpid()}"  # others run beside it
open("/proc/self/comm", "w").write(name)
program = f"import sys; sys.path.insert(0, {directory!r}); import apidoor; apidoor.IDENTITY = {identity!r}"
program += f"; apidoor.API_SERVER = {name!r}"
program += f"; sys.exit(apidoor.main('8443', {question!r}, {place!r}))"
"""
DOOR = """
door = subprocess.Popen([sys.executable, "-c", program])
"""
SERVER = """
server = socket.socket(socket.AF_INET6)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
server.bind(("::", 8443))
server.listen()
server.settimeout(20)
"""
CALLER = """
for _ in range(200):
    try:
        early = socket.create_connection(("127.0.0.1", 8443))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
early.sendall(b"hello")
"""
START = BEGIN + DOOR + CALLER + SERVER
LATE_DOOR = BEGIN + SERVER + DOOR
WELL_IN_THE_END = """
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(f"{identity}.crt", f"{identity}.key")
peer, address = server.accept()
asked = []
with context.wrap_socket(peer, server_side=True) as asker:
    for status in (503, 403, 200):
        late = socket.create_connection(("127.0.0.1", 8443))
        asked.append(asker.recv(4096).split()[1].decode().split("&question")[0])
        asker.sendall(f"HTTP/1.1 {status} x\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
peer, who = server.accept()
print(address[0], len(asked), asked[0], peer.recv(10).decode(), who[0], door.wait(20))
"""
HELD_BACK_ALL_THE_SAME = """
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(f"{identity}.crt", f"{identity}.key")
peer, address = server.accept()
with context.wrap_socket(peer, server_side=True) as asker:
    late = socket.create_connection(("127.0.0.1", 8443))
    late.sendall(b"hello")
    asker.recv(4096)
    server.settimeout(0.3)
    try:
        print("let in", server.accept()[1])
    except TimeoutError:
        pass
    server.settimeout(20)
    asker.sendall(b"HTTP/1.1 200 x\\r\\nContent-Length: 0\\r\\n\\r\\n")
    door.wait(20)
peer, who = server.accept()
print(address[0], peer.recv(10).decode(), who[0], door.returncode)
"""
NEVER_WELL = """
door.wait(20)
for _ in range(500):
    peer, who = server.accept()
    if who[0] != "::1":
        break
print(peer.recv(10).decode(), door.returncode)
"""

pytestmark = pytest.mark.skipif(not Path(apidoor.HAND_OVER).exists(), reason="this kernel (before 5.14) cannot hand waiting callers over")


def run(script: str, identity: Path, *, start: str = START) -> str:
    own_network = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    probe = subprocess.run([*own_network, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"no network namespace of our own here: {probe.stderr.decode().strip()}")
    places = (Path(apidoor.__file__).parent, identity, identity.parent / "progress", WELL)
    command = [*own_network, sys.executable, "-c", start + script, *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_early_callers_are_handed_over_when_the_api_server_is_well(monkeypatch, tmp_path):
    """Also those who come after it has begun to listen; it can be asked how it is, and can ask itself, all the time."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / "home"))
    ensure_cluster_certificates(Identity("dev", "dev", "10.5.0.2"), node_directory=tmp_path, authorities=ensure_authorities("dev"))
    assert run(WELL_IN_THE_END, tmp_path / "apiserver") == f"::1 3 {WELL} hello ::ffff:127.0.0.1 0\n"


def test_a_door_that_opens_after_the_api_server_has_begun_to_listen_is_a_door_all_the_same(monkeypatch, tmp_path):
    """Taken for the API server, it would keep that waiting for itself."""
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / "home"))
    ensure_cluster_certificates(Identity("dev", "dev", "10.5.0.2"), node_directory=tmp_path, authorities=ensure_authorities("dev"))
    said = run(HELD_BACK_ALL_THE_SAME, tmp_path / "apiserver", start=LATE_DOOR)
    assert said == "::1 hello ::ffff:127.0.0.1 0\n"


def test_how_far_it_had_come_is_told_for_a_moment_between_two_looks() -> None:
    progress = apidoor.Progress("somebody")
    assert progress.ago(1, 10) == 0
    progress.seen += [(7.0, 100), (8.0, 200), (9.0, 600), (10.0, 700)]
    assert progress.ago(1.5, 10) == 400
    assert progress.ago(3.5, 10) == 0  # nobody had looked yet


def test_a_process_that_has_ended_has_come_nowhere() -> None:
    assert apidoor.pages_touched("self") > 0
    assert apidoor.pages_touched("0") == 0
    progress = apidoor.Progress("no such process")
    progress.look()
    assert not progress.exists()


def test_early_callers_are_handed_over_where_it_cannot_be_asked(tmp_path):
    assert run(NEVER_WELL, tmp_path / "no-such-certificate") == "hello 0\n"
