"""A component in the store that is no longer what it was: noticed before it is used, made again, and the cluster keeps its data."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.waiting import eventually

from faults.patient import Patient
from faults.table import RUNS, TABLE
from minikube.profiles.paths import store


@pytest.fixture
def own_store(patient: Patient, tmp_path: Path) -> Iterator[Path]:
    """A store with the same files as everybody's; damage is done to copies only."""
    own = tmp_path / "store"
    own.mkdir()
    # Links, so that nothing has to be read again; on another file system, copies.
    linked = subprocess.run(["cp", "-al", str(store() / "entries"), str(own)], capture_output=True, check=False)
    if linked.returncode:
        subprocess.run(["cp", "-a", str(store() / "entries"), str(own)], check=True)
    yield own


@contextmanager
def using(patient: Patient, own: Path) -> Iterator[None]:
    patient.place.environment["MINIKUBE_STORE"] = str(own)
    try:
        yield
    finally:
        del patient.place.environment["MINIKUBE_STORE"]
        if "MINIKUBE_STORE" in os.environ:
            patient.place.environment["MINIKUBE_STORE"] = os.environ["MINIKUBE_STORE"]


def files(own: Path, pattern: str) -> list[Path]:
    """Of every version: which of them this clone uses is its own affair."""
    found = list(own.glob(f"entries/{pattern}"))
    assert found
    return found


def flip(file: Path) -> None:
    """Change one bit in the middle of a copy that takes the file's place."""
    copy = file.with_name("copy")
    shutil.copy2(file, copy)
    with copy.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 1]))
    copy.replace(file)


def test_a_flipped_bit_is_noticed_and_mended(patient: Patient, own_store: Path) -> None:
    with TABLE.run("flipped bit in a store entry"), using(patient, own_store):
        for file in files(own_store, "node-binaries-*/content/usr/local/bin/containerd"):
            flip(file)
        answer = patient.run("start", "--download-only")
        assert answer.code == 0, answer
        assert "is damaged (usr/local/bin/containerd has another content than it was made with)" in answer.stdout + answer.stderr
        assert len(list((own_store / "damaged").iterdir())) == 1
        assert "is damaged" not in patient.ok("start", "--download-only")


def test_a_killed_containerd_costs_one_attempt_at_preparing_images(patient: Patient, own_store: Path, tmp_path: Path) -> None:
    for entry in own_store.glob("entries/images-*"):
        shutil.rmtree(entry)
    with TABLE.run("kill -9 of the containerd that prepares images"), using(patient, own_store):
        patient.place.environment["TMPDIR"] = str(tmp_path)
        try:
            with patient.begin("start", "--download-only") as process:
                socket = eventually(lambda: next(tmp_path.glob("minikube-*/containerd.sock"), None), seconds=60, every=0.01)
                for command in Path("/proc").glob("[0-9]*/cmdline"):
                    with suppress(OSError):
                        if f"{socket.parent}/config.toml".encode() in command.read_bytes():
                            os.kill(int(command.parent.name), signal.SIGKILL)
                _, said = process.communicate(timeout=120)
        finally:
            del patient.place.environment["TMPDIR"]
        assert (process.returncode, "Exiting due to RUNTIME_CACHE: the images cannot be prepared" in said) == (90, True), said
        assert patient.run("start", "--download-only").code == 0


@pytest.mark.long
def test_a_cluster_starts_from_a_store_that_was_damaged(patient: Patient, own_store: Path) -> None:
    for _ in range(RUNS):
        with TABLE.run("damaged store entries, then start of a stopped cluster"):
            patient.ok("stop")
            for file in files(own_store, "node-binaries-*/content/usr/local/bin/containerd"):
                flip(file)
            for seal in files(own_store, "seed-*/seal"):
                seal.unlink()
            for database in files(own_store, "images-*/content/io.containerd.metadata.v1.bolt"):
                shutil.rmtree(database)
            with using(patient, own_store):
                patient.start()
                assert patient.lost() == []
            # Back to everybody's store: this cluster must not stand on one that is about to go.
            patient.ok("stop")
            patient.start()
            assert patient.lost() == []
