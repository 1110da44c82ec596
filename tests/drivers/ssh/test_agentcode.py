"""How a machine runs the agent, with a stand-in for the node image: its loader starts this Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from minikube.artifacts import sealing
from minikube.drivers.ssh import place
from minikube.drivers.ssh.agentcode import START

MAIN = """import sys
sys.path.insert(0, sys.argv[1])
import package.module
print(package.module.__cached__)
"""


def test_the_node_image_that_runs_the_agent_stays_as_sealed(tmp_path: Path) -> None:
    entry, code = tmp_path / "entries/node-image-1", tmp_path / "agents/1"
    libraries = entry / "content/usr/lib/any"
    (libraries / "package").mkdir(parents=True)
    (libraries / "libc.so.6").touch()
    (libraries / "package/module.py").touch()
    loader = libraries / "ld-linux-any.so.1"
    loader.write_text(f'#!/bin/sh\nshift 3  # --library-path, its value, the python of the image\nexec {sys.executable} "$@"\n')
    loader.chmod(0o755)
    sealing.seal(entry, name="node-image", identity="")
    code.mkdir(parents=True)
    (code / "start").write_text(START.replace(place.STORE, str(tmp_path)))
    (code / "agent.py").write_text(MAIN)

    said = subprocess.run(["sh", str(code / "start"), "client", str(libraries)], capture_output=True, text=True, check=True).stdout

    compiled = Path(said.strip())
    assert compiled.is_file()
    assert compiled.is_relative_to(code)
    assert sealing.check(entry, full=True) is None
