"""A cluster that faults are tried on: it holds something that must not get lost, and can be looked over from outside."""

from __future__ import annotations

import secrets
from pathlib import Path

from support import host, manifests
from support.minikube import Answer, Minikube, Place
from support.waiting import eventually

from faults.table import TABLE

INTERRUPTED = 11  # upstream's exit code for it


class Patient(Minikube):
    """A profile with a ConfigMap and a file in a volume."""

    def __init__(self, place: Place, profile: str, image: Path) -> None:
        super().__init__(place, profile)
        self.image = image
        self.word = secrets.token_hex(8)

    def begin_life(self) -> None:
        self.start()
        self.write_word()

    def write_word(self) -> None:
        self.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"word": self.word}}, manifests.claim("kept")
        )
        self.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/kept", "--timeout=60s")
        self.ssh(f"echo {self.word} > {self.volume()}/word && sync")

    def lost(self) -> list[str]:
        """What was entrusted to the cluster and is no longer there."""
        found = []
        if self.get("configmap", "kept")["data"]["word"] != self.word:
            found.append("ConfigMap")
        if self.ssh(f"cat {self.volume()}/word").strip() != self.word:
            found.append("file in a volume")
        return found

    def leaks(self) -> list[str]:
        """What is on the host of a cluster that should be gone or stopped."""
        return [f"{kind}: {one}" for kind, ones in host.traces(self, self.image).items() for one in ones]

    def ends(self, command: str, at: str, *flags: str) -> Answer:
        """Run a command that the hook ends at that moment."""
        self.place.environment["MINIKUBE_DIE_AT"] = at
        try:
            # Not `run`: whoever runs the tests in the background has Ctrl-C ignored, and so would the command.
            with self.begin(command, *flags) as process:
                written = process.communicate(timeout=300)
        finally:
            del self.place.environment["MINIKUBE_DIE_AT"]
        return Answer(process.returncode, *written)

    def moments(self, command: str) -> list[str]:
        """The names of the moments that a command goes through now, in order."""
        answer = self.run(command, "--alsologtostderr", timeout=300)
        assert answer.code == 0, answer
        lines = [line.partition(" moment: ")[2] for line in answer.stderr.splitlines() if " moment: " in line]
        return list(dict.fromkeys(lines))

    def healthy(self, *, seconds: float = 90) -> bool:
        """Whether `status` finds all well, now or soon."""
        return eventually(lambda: self.run("status").code == 0, seconds=seconds, every=1)

    def pids(self, name: str) -> list[int]:
        """Processes of the node by the name of their program, as numbers of the host."""
        found = []
        for entry in host.processes(self):
            pid = entry.split()[0]
            try:
                if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]:
                    found.append(int(pid))
            except OSError:
                continue
        return found

    def volume(self) -> str:
        volume = self.get("pvc", "kept")["spec"]["volumeName"]
        return str(self.get("pv", volume)["spec"]["hostPath"]["path"])


def interrupt(patient: Patient, command: str, at: str) -> None:
    """One line, the documented exit code, no traceback; a command that is over before its milliseconds are has simply succeeded."""
    with TABLE.run(f"Ctrl-C in {command}: {at.partition(':')[0]}"):
        answer = patient.ends(command, at)
        assert "Traceback" not in answer.stdout + answer.stderr, answer
        if answer.code or not at.split(":")[1].isdigit():
            assert answer.code == INTERRUPTED, answer
            assert answer.stderr.strip().splitlines()[-1].startswith("Interrupted. "), answer
