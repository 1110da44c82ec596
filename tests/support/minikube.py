"""The `minikube` command of this clone, used as a person uses it: as a process, in a home and with a kubeconfig of its own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

CLONE = Path(__file__).parents[2]


class Answer(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)


class Place:
    """A directory with a home and a kubeconfig that nobody else uses."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = directory / ".minikube"
        self.home_seen = str(self.home)  # where minikube finds it, whose root may be another
        self.kubeconfig = directory / "kubeconfig"
        kept = {
            name: value for name, value in os.environ.items() if name == "MINIKUBE_STORE" or not name.startswith(("MINIKUBE_", "PYTHON"))
        }
        self.environment = kept | {"MINIKUBE_HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "PYTHONDONTWRITEBYTECODE": "1"}

    def argv(self, words: Sequence[str]) -> list[str]:
        return [sys.executable, str(CLONE / "src"), *words]

    def run(self, *words: str, input: bytes | str = b"", timeout: float = 120) -> Answer:
        """Run to the end; whatever the exit code, the answer is the test's to judge."""
        data = input.encode() if isinstance(input, str) else input
        done = subprocess.run(self.argv(words), input=data, capture_output=True, env=self.environment, timeout=timeout, check=False)
        return Answer(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start and leave running, in a process group of its own and open to Ctrl-C, as a shell would."""
        return subprocess.Popen(
            self.argv(words), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
        )  # fmt: skip


class Minikube:
    """One profile at a place. The profile is always named, so that no default is ever touched."""

    def __init__(self, place: Place, profile: str) -> None:
        self.place = place
        self.profile = profile

    @property
    def machine(self) -> Path:
        return self.place.home / "machines" / self.profile

    @property
    def host_id(self) -> str:
        """The part that the names of this machine's bridge, firewall table and control group have in common."""
        return hashlib.sha256(f"{self.place.home_seen}/machines/{self.profile}".encode()).hexdigest()[:8]

    def words(self, *words: str) -> tuple[str, ...]:
        return (words[0], "-p", self.profile, *words[1:])

    def run(self, *words: str, input: bytes | str = b"", timeout: float = 120) -> Answer:
        return self.place.run(*self.words(*words), input=input, timeout=timeout)

    def ok(self, *words: str, input: bytes | str = b"", timeout: float = 120) -> str:
        """What the command wrote; it must succeed."""
        answer = self.run(*words, input=input, timeout=timeout)
        assert answer.code == 0, f"{' '.join(words)}: exit code {answer.code}\n{answer.stdout}\n{answer.stderr}"
        return answer.stdout

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return self.place.begin(*self.words(*words))

    def start(self, *flags: str) -> str:
        return self.ok("start", *flags, timeout=300)

    def kubectl(self, *words: str, input: bytes | str = b"", timeout: float = 120) -> str:
        return self.ok("kubectl", "--", *words, input=input, timeout=timeout)

    def get(self, *words: str) -> Any:
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def ssh(self, command: str, *, input: bytes | str = b"") -> str:
        return self.ok("ssh", "--", command, input=input)


@contextmanager
def temporary_place() -> Iterator[Place]:
    """A place whose clusters are deleted at the end, however the tests went."""
    directory = Path(tempfile.mkdtemp(prefix="mk-e2e-"))
    place = Place(directory)
    try:
        yield place
    finally:
        answer = place.run("delete", "--all", "--purge", timeout=180)
        # With a cluster left in it, the directory is needed to find out why, and to delete the cluster.
        assert answer.code == 0, f"delete --all --purge: exit code {answer.code}, {directory} is left\n{answer.stdout}\n{answer.stderr}"
        subprocess.run(["rm", "-rf", "--one-file-system", str(directory)], check=True)


def read_until(process: subprocess.Popen[str], text: str, *, seconds: float) -> str:
    """What the process wrote to stdout up to the line with that text; it is killed if the line does not come in time."""
    assert process.stdout is not None
    late = threading.Timer(seconds, process.kill)
    late.start()
    seen = ""
    try:
        for line in process.stdout:
            seen += line
            if text in line:
                return seen
    finally:
        late.cancel()
    process.kill()
    raise AssertionError(f"{text!r} did not come within {seconds:g} s:\n{seen}\n{process.stderr.read() if process.stderr else ''}")
