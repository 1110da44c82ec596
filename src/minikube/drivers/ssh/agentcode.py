"""The code of the agent, and how a machine with nothing but a shell and a node image runs it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from minikube.drivers.ssh import place

PACKAGE = Path(__file__).parents[2]
# What drivers stand on, by the order of the layers; nothing above them is needed there.
ROOMS = ("artifacts", "drivers", "host", "network", "node", "output", "profiles")

# Run by the machine's shell: any node image will do to run the agent. Python keeps what it compiles beside the agent's code: a file more in
# the image, and the image would no longer be what its seal says.
START = f"""#!/bin/sh
umask 022
client=$1; shift
for image in {place.ENTRIES}/node-image-*/content; do :; done
for library in "$image"/usr/lib/*/libc.so.6; do :; done
library=${{library%/*}}
for loader in "$library"/ld-linux*.so.*; do :; done
code=${{0%/*}}
[ -e "$loader" ] || {{ echo "no node image in {place.ENTRIES}" >&2; exit 1; }}
export MINIKUBE_HOME={place.NODES}/$client/.minikube MINIKUBE_STORE={place.STORE} HOME=/root LANG=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec "$loader" --library-path "$library" "$image/usr/bin/python3" -I -S -X "pycache_prefix=$code/compiled" "$code/agent.py" "$@"
"""
MAIN = """import sys
sys.path.insert(0, __file__.rpartition("/")[0])
from minikube.drivers.ssh.agent import main
main(sys.argv[1:])
"""


@cache
def digest() -> str:
    """Names the agent's code: a machine may serve several versions of minikube at once."""
    import hashlib

    whole = hashlib.sha256((START + MAIN).encode())
    for path in code():
        whole.update(f"\0{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes())
    return whole.hexdigest()[:12]


def code() -> Iterator[Path]:
    yield PACKAGE / "__init__.py"
    for room in ROOMS:
        yield from sorted((PACKAGE / room).rglob("*.py"))
