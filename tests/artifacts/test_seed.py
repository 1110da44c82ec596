"""A seed made by real programs, where nobody else can reach them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.artifacts import seed
from minikube.artifacts.assembly import provide_components
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.provide import binaries, binary_recipes
from minikube.artifacts.seedcheck import check_seed
from minikube.artifacts.store import Store
from minikube.host.process import in_network_of_its_own
from minikube.output.progress import silent
from minikube.output.reason import Reason

pytestmark = pytest.mark.build
# In a network of its own, where nothing else listens; what is seen there is what another user of the host would see.
MAKE = """
import fcntl, json, socket, struct, sys, threading
from pathlib import Path
from minikube.artifacts.seed import build_seed

with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1))
etcd, kubernetes, target = sys.argv[1:]
seen, looked, done = set(), 0, threading.Event()

def watch():
    global looked
    while not done.wait(0.01):
        looked += 1
        for file in ("tcp", "tcp6", "udp", "udp6"):
            for line in Path(f"/proc/self/net/{file}").read_text().splitlines()[1:]:
                seen.add((file, line.split()[1], line.split()[3]))

watching = threading.Thread(target=watch)
watching.start()
try:
    programs = ([kubernetes, name] for name in ("kube-apiserver", "kube-controller-manager"))
    build_seed(Path(target), etcd=Path(etcd), **dict(zip(("api_server", "controller_manager"), programs)))
finally:
    done.set()
    watching.join()
    print(json.dumps({"seen": sorted(seen), "looked": looked}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own takes root")
def test_nothing_listens_on_the_host_while_a_seed_is_made(tmp_path: Path) -> None:
    provide_components(DEFAULT, silent())
    found = binaries(binary_recipes(DEFAULT, Store()), Store())
    command = [sys.executable, "-c", MAKE, str(found.etcd), str(found.kubernetes), str(tmp_path)]
    made = subprocess.run(in_network_of_its_own(command), capture_output=True, text=True, check=False, timeout=300)
    answer = json.loads(made.stdout)
    assert answer["seen"] == []
    assert made.returncode == 0, made.stderr
    assert answer["looked"] > 50
    pairs = json.loads((tmp_path / seed.SEED).read_text())
    assert len(pairs) > 150
    check_seed(pairs)


def test_programs_that_are_something_else(tmp_path: Path) -> None:
    """What an image calls etcd need not be it."""
    other = Path(os.environ["MINIKUBE_TEST_NODE_IMAGE"], "usr/bin/busybox")
    with pytest.raises(Reason, match="ended") as caught:
        seed.build_seed(tmp_path, etcd=other, api_server=[str(other)], controller_manager=[str(other)])
    assert caught.value.id == "RUNTIME_CACHE"
    assert list(tmp_path.iterdir()) == []
