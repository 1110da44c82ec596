"""Bundles and signatures at random, and what is looked at before a signature is right."""

from __future__ import annotations

import base64
import copy
import gzip
import io
import json
import random
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.smallbundle import digest, forge, key_pair, make, manifest_of, tree

from minikube.artifacts import versionrecords
from minikube.artifacts.bundleformat import NAMESPACE
from minikube.artifacts.bundleimport import import_bundle
from minikube.artifacts.bundlereader import open_bundle
from minikube.artifacts.releasedversions import recorded
from minikube.artifacts.sshsig import fingerprint_in, sign, verify
from minikube.artifacts.store import Store, remove_tree
from minikube.cluster import bundles
from minikube.output.progress import silent
from minikube.output.reason import Reason

CONTENT = b"content"


def entry(*file: Any, name: str = "file") -> dict[str, Any]:
    return {"name": "thing", "digest": "0" * 64, "identity": "1", "what": "thing", "files": {name: list(file)}}


@pytest.mark.parametrize(
    "file",
    [
        ("file", 0o646, 0, digest(CONTENT), len(CONTENT), 0),
        ("file", 0o644, -1, digest(CONTENT), len(CONTENT), 0),
        ("file", 0o644, 1 << 63, digest(CONTENT), len(CONTENT), 0),
        ("directory", 0o777, 0),
        ("directory", 0o755, 1 << 62),
    ],
)
def test_modes_and_times_that_no_component_has(tmp_path: Path, file: tuple[Any, ...]) -> None:
    whole = manifest_of(make(tmp_path)) | {"entries": [entry(*file)], "images": []}
    with pytest.raises(Reason) as caught, open_bundle(forge(tmp_path / "bad.tar", whole, [CONTENT])) as bundle:
        import_bundle(bundle, Store(tmp_path / "store"), silent())
    assert caught.value.id == "HOST_BUNDLE_DAMAGED"


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_an_image_is_a_file_of_its_entry(tmp_path: Path, kind: str) -> None:
    file = {"link": ("link", 0o777, 0, "/etc/shadow"), "directory": ("directory", 0o755, 0)}[kind]
    image = {"names": ["a:1"], "entry": "thing", "digest": "0" * 64}
    whole = manifest_of(make(tmp_path)) | {"entries": [entry(*file, name="image.tar")], "images": [image]}
    with pytest.raises(Reason, match="has no image"), open_bundle(forge(tmp_path / "bad.tar", whole)) as bundle:
        assert bundle.manifest


RECORDS = [
    '{"etcd": "../../../x", "coredns": "v1.2.3", "pause": "3.10"}',
    '{"etcd": "v3.6.5", "coredns": "v1.2.3", "pause": "3.10", "containerd": "v../../x"}',
    '{"etcd": "v3.6.5", "coredns": "v1.2.3", "pause": ["3.10"]}',
    '{"etcd": "v3.6.5"}',
    "[]",
    "{",
    "[" * 100_000,
]


@pytest.mark.parametrize("text", RECORDS)
def test_records_hold_versions_and_nothing_else(tmp_path: Path, text: str) -> None:
    """They become names of files and addresses."""
    name = "versions/kubernetes-v1.30.1.json"
    whole = manifest_of(make(tmp_path)) | {"records": {name: text}}
    with pytest.raises(Reason, match="no record"), open_bundle(forge(tmp_path / "bad.tar", whole)) as bundle:
        assert bundle.manifest
    (tmp_path / "versions").mkdir()
    (tmp_path / name).write_text(text)
    assert recorded("v1.30.1", tmp_path) is None
    assert versionrecords.is_record(name, '{"etcd": "v3.6.5", "coredns": "v1.12.1", "pause": "3.10.1"}')


@pytest.mark.parametrize("repository", ["registry.example/x y", "http://registry.example", "-x", "\x1b[2J"])
def test_a_registry_by_its_form(tmp_path: Path, repository: str) -> None:
    whole = manifest_of(make(tmp_path)) | {"repository": repository}
    if repository.startswith("http"):
        whole["repository"] += "?x"
    with pytest.raises(Reason, match="not a registry"), open_bundle(forge(tmp_path / "bad.tar", whole)) as bundle:
        assert bundle.manifest


def test_nothing_of_a_manifest_is_read_before_its_signature_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    _, public = key_pair(tmp_path)
    other, _ = key_pair(tmp_path, name="other")
    signed = make(tmp_path, "signed.tar", sign=lambda data: sign(data, other, NAMESPACE))
    unsigned = forge(tmp_path / "unsigned.tar", b"not even a manifest")
    for bundle in (signed, unsigned):
        for use in (bundles.bring_in, bundles.inspect):
            with pytest.raises(Reason) as caught:
                use(bundle, public, silent())
            assert caught.value.id == "HOST_BUNDLE_UNTRUSTED"
    assert not (tmp_path / "store").exists()


def test_manifests_at_random(tmp_path: Path) -> None:
    chance = random.Random(29)
    whole = manifest_of(make(tmp_path, version="v1.30.1"))
    whole["records"] = {"versions/kubernetes-v1.30.1.json": '{"etcd": "v3.6.5", "coredns": "v1.12.1", "pause": "3.10.1"}'}
    blobs = _blobs(tmp_path / "bundle.tar")
    hostile = ["../x", "/etc/passwd", "", None, -1, 1 << 62, 1 << 70, 1.5, [], {}, 0o4755, "link", "directory", "a/b", "\ud800", "x" * 5000]
    watched = tmp_path / "watched"
    outcomes = {"imported": 0, "refused": 0}
    for number in range(150):
        changed = copy.deepcopy(whole)
        for _ in range(chance.randrange(1, 3)):
            changed = _changed(changed, chance, hostile)
        body = json.dumps(changed).encode()
        if chance.random() < 0.15:
            body = body[: chance.randrange(len(body))]
        bundle = forge(tmp_path / "fuzzed.tar", body, blobs)
        store = Store(watched / f"{number}" / "store")
        before = set(tmp_path.rglob("*"))
        try:
            with open_bundle(bundle) as opened:
                import_bundle(opened, store, silent())
            outcomes["imported"] += 1
        except Reason:
            outcomes["refused"] += 1
        assert all(path.is_relative_to(watched / f"{number}") or path == watched for path in set(tmp_path.rglob("*")) - before)
        for path in (store.root / "entries").rglob("*") if (store.root / "entries").exists() else ():
            assert path.is_symlink() or not path.is_file() or not path.stat().st_mode & 0o6002
        remove_tree(watched)
    assert min(outcomes.values()) > 5


def test_files_at_random(tmp_path: Path) -> None:
    chance = random.Random(31)
    originals = [make(tmp_path, name).read_bytes() for name in ("bundle.tar", "bundle.tar.gz")]
    for path in tmp_path.glob("bundle*"):
        path.unlink()
    before = tree(tmp_path)
    for _ in range(150):
        data = bytearray(chance.choice(originals))
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(min(len(data), 1 << chance.randrange(6, 16)))] = chance.randrange(256)
        file = tmp_path / "fuzzed.tar"
        file.write_bytes(data)
        try:
            with open_bundle(file) as bundle:
                for _digest in bundle.blobs(lambda _digest: io.BytesIO()):
                    pass
        except Reason as reason:
            assert reason.id.startswith("HOST_BUNDLE_")
        file.unlink()
    assert tree(tmp_path) == before


def test_a_compressed_bundle_of_nothing_but_zeros(tmp_path: Path) -> None:
    member = tarfile.TarInfo("manifest.json")
    member.size = 15 << 20
    with gzip.open(tmp_path / "bomb", "wb", compresslevel=1) as stream:
        stream.write(member.tobuf() + bytes(15 << 20))
    with pytest.raises(Reason) as caught, open_bundle(tmp_path / "bomb") as bundle:
        assert bundle.manifest
    assert caught.value.id == "HOST_BUNDLE_DAMAGED"


@pytest.mark.parametrize("kind", ["ed25519", "p256", "rsa"])
def test_signatures_at_random(tmp_path: Path, kind: str) -> None:
    """Only declared reasons; and what this code takes, ssh-keygen takes as well."""
    chance = random.Random(37)
    private, public = key_pair(tmp_path, kind)
    message = b"a manifest"
    original = sign(message, private, NAMESPACE)
    blob = base64.b64decode("".join(original.decode().splitlines()[1:-1]))
    accepted = []
    for _ in range(400):
        data = bytearray(blob)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        armored = b"-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(bytes(data)) + b"\n-----END SSH SIGNATURE-----\n"
        if chance.random() < 0.1:
            armored = bytes(chance.randrange(256) if chance.random() < 0.05 else byte for byte in armored)
        fingerprint_in(armored)
        try:
            verify(message, armored, public, NAMESPACE)
            accepted.append(armored)
        except Reason as reason:
            assert reason.id == "HOST_BUNDLE_UNTRUSTED"
    if shutil.which("ssh-keygen"):
        (tmp_path / "allowed").write_text(f"alice {public.read_text()}")
        for number, armored in enumerate(accepted):
            (tmp_path / f"{number}.sig").write_bytes(armored)
            check = [
                "ssh-keygen",
                "-Y",
                "verify",
                "-f",
                tmp_path / "allowed",
                "-I",
                "alice",
                "-n",
                NAMESPACE,
                "-s",
                tmp_path / f"{number}.sig",
            ]
            assert subprocess.run(check, input=message, capture_output=True, check=False).returncode == 0


def _blobs(bundle: Path) -> list[bytes]:
    with tarfile.open(bundle) as archive:
        return [content.read() for member in archive if member.name.startswith("blobs/") and (content := archive.extractfile(member))]


def _changed(value: Any, chance: random.Random, hostile: list[Any]) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            other = chance.choice([text for text in hostile if isinstance(text, str)])
            return {(other if name == key else name): one for name, one in value.items()}
        return {**value, key: _changed(value[key], chance, hostile)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        return [*value[:place], _changed(value[place], chance, hostile), *value[place + 1 :]]
    return chance.choice(hostile)
