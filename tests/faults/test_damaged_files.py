"""Full disks, read-only homes, damaged and missing files, files of others in the way: a clear reason, and nothing lost."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.minikube import Answer, Minikube, Place

from faults.patient import Patient
from faults.table import RUNS, TABLE


def refused(answer: Answer, reason: str, *words: str) -> None:
    """One reason with an id, what it is about and what to do, and no traceback."""
    told = answer.stdout + answer.stderr
    assert answer.code not in (0, 1, 10), told
    assert "Traceback" not in told
    assert reason in told, told
    assert "Suggestion:" in told, told
    for word in words:
        assert word in told, told


@contextmanager
def small_disk(directory: Path, *, size: str, options: str = "") -> Iterator[Path]:
    """A file system of its own."""
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "mk-faults", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def fill(directory: Path) -> None:
    """To the last byte."""
    descriptor = os.open(directory / "ballast", os.O_WRONLY | os.O_CREAT)
    for size in (1 << 20, 4096, 1):
        with suppress(OSError):
            while True:
                os.write(descriptor, bytes(size))
    os.close(descriptor)


def test_a_home_without_a_byte_to_spare(patient: Patient, tmp_path: Path) -> None:
    with TABLE.run("disk full: profile"), small_disk(tmp_path / "disk", size="64k") as disk:
        minikube = Minikube(Place(disk), "full")
        fill(disk)
        refused(minikube.run("start"), "RSRC_INSUFFICIENT_STORAGE", "Free some space")
        assert minikube.run("delete").code == 0


def test_a_read_only_home(patient: Patient, tmp_path: Path) -> None:
    with TABLE.run("read-only home"), small_disk(tmp_path / "disk", size="1m") as disk:
        minikube = Minikube(Place(disk), "readonly")
        (disk / ".minikube").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused(minikube.run("start"), "HOST_HOME_PERMISSION", "Read-only file system", "MINIKUBE_HOME")


def test_a_kubeconfig_on_a_full_disk(patient: Patient, tmp_path: Path) -> None:
    with TABLE.run("disk full: kubeconfig"), small_disk(tmp_path / "disk", size="64k") as disk:
        theirs = "apiVersion: v1\nkind: Config\nclusters: []\n# theirs\n"
        (disk / "kubeconfig").write_text(theirs)
        fill(disk)
        with kubeconfig(patient, disk / "kubeconfig"):
            refused(patient.run("update-context"), "RSRC_INSUFFICIENT_STORAGE", str(disk / "kubeconfig"))
            assert (disk / "kubeconfig").read_text() == theirs


def test_a_truncated_kubeconfig(patient: Patient, tmp_path: Path) -> None:
    with TABLE.run("truncated kubeconfig"):
        torn = patient.place.kubeconfig.read_bytes()[:-40] + b"\n  : ["
        broken = tmp_path / "kubeconfig"
        broken.write_bytes(torn)
        with kubeconfig(patient, broken):
            refused(patient.run("update-context"), "HOST_KUBECONFIG", str(broken))
            assert broken.read_bytes() == torn
            assert "kubeconfig: Misconfigured" in patient.run("status").stdout


@contextmanager
def kubeconfig(patient: Patient, path: Path) -> Iterator[None]:
    before = patient.place.environment["KUBECONFIG"]
    patient.place.environment["KUBECONFIG"] = str(path)
    try:
        yield
    finally:
        patient.place.environment["KUBECONFIG"] = before


@pytest.mark.parametrize("damage", [b"", b'{"Name": "x', b"[]", b"\xff\xfe"], ids=["empty", "cut off", "a list", "no text"])
def test_a_damaged_profile(patient: Patient, damage: bytes) -> None:
    file = patient.place.home / "profiles" / patient.profile / "config.json"
    good = file.read_bytes()
    with TABLE.run("damaged config.json of a profile"):
        file.write_bytes(damage)
        try:
            for command in ("start", "stop", "status"):
                refused(patient.run(command), "HOST_CONFIG_LOAD", str(file), "Repair the file")
            assert file.read_bytes() == damage
        finally:
            file.write_bytes(good)
        assert patient.run("status").code == 0


def test_a_damaged_user_configuration(patient: Patient) -> None:
    with TABLE.run("damaged config/config.json"):
        file = patient.place.home / "config" / "config.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"cpus": ')
        try:
            refused(patient.run("start"), "HOST_CONFIG_LOAD", str(file))
            assert file.read_text() == '{"cpus": '
        finally:
            file.unlink()


def test_a_damaged_record_of_the_machine(patient: Patient) -> None:
    file = patient.machine / "native.json"
    good = file.read_bytes()
    with TABLE.run("damaged native.json"):
        file.write_bytes(good[:50])
        try:
            refused(patient.run("start"), "GUEST_LOAD_HOST", str(file))
        finally:
            file.write_bytes(good)
        assert patient.run("status").code == 0


@pytest.mark.parametrize("way", ["machines", "profiles", "locks"])
def test_a_file_of_another_program_in_our_way(patient: Patient, tmp_path: Path, way: str) -> None:
    with TABLE.run("another program's file in our way"):
        minikube = Minikube(Place(tmp_path), "inway")
        minikube.place.home.mkdir()
        obstacle = minikube.place.home / way
        obstacle.write_text("somebody else's")
        refused(minikube.run("start"), "HOST_", str(obstacle))
        assert obstacle.read_text() == "somebody else's"


def test_a_damaged_journal_is_done_without(patient: Patient) -> None:
    with TABLE.run("damaged journal of host changes, then stop"):
        patient.start()
        (patient.machine / "host-changes.json").write_text('[{"kind": "brid')
        patient.ok("stop")
        assert patient.leaks() == []


def test_a_database_that_cannot_be_started_ahead_is_left_to_the_kubelet(patient: Patient) -> None:
    """The API server, started ahead without it, would keep the kubelet waiting, which has to start the database."""
    with TABLE.run("a second start that cannot run its database ahead"):
        patient.start()
        patient.ok("stop")
        file = patient.machine / "state/var/lib/minikube/forerunners.json"
        kept = json.loads(file.read_bytes())
        etcd = next(pod for pod in kept["pods"] if pod["name"] == "etcd")
        etcd["container"]["image"] = {"image": "gone.example/etcd:1"}
        file.write_text(json.dumps(kept))
        patient.start()
        assert "the kubelet does it all" in patient.ssh("cat /var/log/minikube/forerunners.log")
        boxes = json.loads(patient.ssh("crictl pods -o json --state Ready --label component=kube-apiserver"))["items"]
        assert len(boxes) == 1, "the one that was started ahead is gone"


@pytest.mark.long
def test_a_half_deleted_machine_is_deleted_and_named(patient: Patient) -> None:
    """Whatever part is gone, delete succeeds, says what it found, and leaves nothing."""
    for gone in ("native.json", "host-changes.json", "runc", "bundle", "state/etc", "state/var", "run", "profile", "everything"):
        with TABLE.run(f"{gone} removed from a running machine, then delete"):
            doomed = Patient(patient.place, f"gone-{secrets.token_hex(3)}", patient.image)
            assert doomed.ends("start", "API server answers:before").code < 0
            victim = doomed.place.home / "profiles" / doomed.profile if gone == "profile" else doomed.machine / gone
            if gone == "everything":
                shutil.rmtree(doomed.place.home / "profiles" / doomed.profile)
                victim = doomed.machine
            shutil.rmtree(victim, ignore_errors=True) if victim.is_dir() else victim.unlink()
            answer = doomed.run("delete")
            assert answer.code == 0, answer
            if gone in ("native.json", "bundle", "state/etc", "profile", "host-changes.json", "everything"):
                assert "gone already" in answer.stdout, answer
            assert doomed.leaks() == []
            assert not doomed.machine.exists()


@pytest.mark.long
def test_etcd_on_a_full_disk(patient: Patient, tmp_path: Path) -> None:
    """Writes fail while there is no room; with room again everything is there, after a start at the latest."""
    for _ in range(RUNS):
        with TABLE.run("disk full: etcd"), full_disk_for_a_cluster(tmp_path / secrets.token_hex(3)) as place:
            cluster = Patient(place, "etcdfull", patient.image)
            cluster.begin_life()
            fill(place.directory)
            for number in range(200):
                data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"big-{number}"}, "data": {"x": "x" * 100_000}}
                if cluster.run("kubectl", "--", "create", "-f", "-", input=str(data).replace("'", '"')).code:
                    break
            (place.directory / "ballast").unlink()
            cluster.start()
            assert cluster.lost() == []
            cluster.ok("delete")


@contextmanager
def full_disk_for_a_cluster(directory: Path) -> Iterator[Place]:
    """A disk of 1.5 GB in a file; images are hard-linked, so they need room only on the store's disk, or are copied here."""
    directory.mkdir()
    image = directory.with_suffix(".img")
    with image.open("wb") as stream:
        stream.truncate(1500 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(directory)], check=True)
    try:
        place = Place(directory)
        yield place
        place.run("delete", "--all", timeout=120)
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)
        image.unlink()
