"""Bundles that are broken, foreign or hostile: a reason each, and nothing of them is in the store or beside it."""

from __future__ import annotations

import copy
import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.smallbundle import digest, forge, make, manifest_of, tree

from minikube.artifacts.bundleimport import import_bundle
from minikube.artifacts.bundlereader import open_bundle
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.store import Store
from minikube.output.progress import silent
from minikube.output.reason import Reason

EVIL = b"evil"
FILE = ["file", 0o644, 0, digest(EVIL), len(EVIL), 0]
DIRECTORY = ["directory", 0o755, 0]


def manifest(files: dict[str, list[Any]], **changes: Any) -> dict[str, Any]:
    entry = {"name": "thing", "digest": "0" * 64, "identity": "1", "what": "thing", "files": files}
    return {"format": 1, "minikube": "0", "architecture": goarch(), "kubernetes": [], "entries": [entry], "images": []} | changes


def refused(bundle: Path, store: Store) -> Reason:
    """The reason of an import that must leave nothing behind."""
    with pytest.raises(Reason) as caught, open_bundle(bundle) as opened:
        import_bundle(opened, store, silent())
    entries = list((store.root / "entries").iterdir()) if (store.root / "entries").exists() else []
    assert not [entry for entry in entries if entry.name.startswith("thing")]
    assert not (store.root / "building").exists() or list((store.root / "building").iterdir()) == []
    return caught.value


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "inside" / "store")


HOSTILE: dict[str, dict[str, list[Any]]] = {
    "a path that climbs": {"../../escaped": FILE},
    "an absolute path": {"/tmp/escaped": FILE},
    "a path that climbs later": {"a": DIRECTORY, "a/../../../escaped": FILE},
    "an empty path": {"": FILE},
    "a path with a null": {"a\0b": FILE},
    "through a link": {"out": ["link", 0o777, 0, "/tmp"], "out/escaped": FILE},
    "through a link to the parent": {"out": ["link", 0o777, 0, "../../.."], "out/escaped": FILE},
    "through a file": {"out": FILE, "out/escaped": FILE},
    "in a directory nobody made": {"a/b": FILE},
    "set-uid": {"root-shell": ["file", 0o4755, 0, digest(EVIL), len(EVIL), 0]},
    "more than permissions": {"device": ["file", 0o60644, 0, digest(EVIL), len(EVIL), 0]},
    "a device": {"device": ["special", 0o644, 0]},
    "no digest": {"a": ["file", 0o644, 0, "../../../etc/passwd", 4, 0]},
    "one file with two contents": {"a": FILE, "b": ["file", 0o644, 0, digest(b"good"), 4, 0]},
    "one content with two sizes": {"a": FILE, "b": ["file", 0o644, 0, digest(EVIL), 9, 1]},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_manifest(what: str, tmp_path: Path, store: Store) -> None:
    before = tree(tmp_path)
    bundle = forge(tmp_path / "bundle.tar", manifest(HOSTILE[what]), [EVIL])
    assert refused(bundle, store).id == "HOST_BUNDLE_DAMAGED"
    bundle.unlink()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["../thing", "..", "thing/../..", "", ".hidden", "a b"])
def test_a_hostile_name(name: str, tmp_path: Path, store: Store) -> None:
    bad = manifest({"a": FILE})
    bad["entries"][0]["name"] = name
    assert refused(forge(tmp_path / "bundle.tar", bad, [EVIL]), store).id == "HOST_BUNDLE_DAMAGED"


def test_other_bytes_than_the_manifest_says(tmp_path: Path, store: Store) -> None:
    bundle = make(tmp_path)
    data = bytearray(bundle.read_bytes())
    data[data.index(b"the programthe program") + 5] ^= 1
    bundle.write_bytes(data)
    assert "has another content" in refused(bundle, store).message
    assert not (store.root / "entries").exists()


@pytest.mark.parametrize("name", ["bundle.tar", "bundle.tar.gz"])
def test_cut_short_anywhere(name: str, tmp_path: Path, store: Store) -> None:
    whole = make(tmp_path, name).read_bytes()
    for length in (0, 1, 2, 100, 511, 512, 513, *(len(whole) * part // 8 for part in range(1, 6))):
        (tmp_path / name).write_bytes(whole[:length])
        with pytest.raises(Reason) as caught, open_bundle(tmp_path / name) as opened:
            import_bundle(opened, store, silent())
        assert caught.value.id == "HOST_BUNDLE_DAMAGED", length
        assert store.verify() == {}  # what was whole by then may stay
    (tmp_path / name).write_bytes(whole)
    with open_bundle(tmp_path / name) as opened:
        import_bundle(opened, store, silent())
    assert len(list((store.root / "entries").iterdir())) == 3


def _without_files(whole: dict[str, Any]) -> Any:
    del whole["entries"][0]["files"]
    return whole


def _image_that_is_not_there(whole: dict[str, Any]) -> Any:
    whole["images"][0]["digest"] = "1" * 64
    return whole


MANIFESTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "not JSON": lambda whole: b"{",
    "a list": lambda whole: b"[]",
    "not text": lambda whole: b"\xff\xfe\xff",
    "without files": _without_files,
    "a version that is none": lambda whole: whole | {"kubernetes": ["v1.x"]},
    "numbers as text": lambda whole: whole | {"entries": "three"},
    "an image that is not there": _image_that_is_not_there,
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_that_is_none(what: str, tmp_path: Path, store: Store) -> None:
    whole = manifest_of(make(tmp_path))
    bundle = forge(tmp_path / "bad.tar", MANIFESTS[what](copy.deepcopy(whole)))
    assert refused(bundle, store).id == "HOST_BUNDLE_DAMAGED"


@pytest.mark.parametrize(
    ("changes", "words"), [({"architecture": "s390x"}, "is for s390x"), ({"format": 2}, "format 2"), ({"format": "new"}, "format")]
)
def test_for_another_machine_or_version(changes: dict[str, Any], words: str, tmp_path: Path, store: Store) -> None:
    reason = refused(forge(tmp_path / "bundle.tar", manifest({"a": FILE}, **changes), [EVIL]), store)
    assert reason.id == "HOST_BUNDLE_UNSUPPORTED"
    assert words in reason.message


@pytest.mark.parametrize("content", [b"", b"text", bytes(4096), gzip.compress(b"text", mtime=0), b"\x1f\x8b broken"])
def test_no_bundle_at_all(content: bytes, tmp_path: Path, store: Store) -> None:
    (tmp_path / "file").write_bytes(content)
    assert refused(tmp_path / "file", store).id == "HOST_BUNDLE_DAMAGED"


def test_no_file(tmp_path: Path, store: Store) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        assert refused(path, store).id == "HOST_PATH_MISSING"


STRANGERS = {
    "a link": (tarfile.SYMTYPE, "blobs/sha256/" + digest(b"x")),
    "a device": (tarfile.CHRTYPE, "blobs/sha256/" + digest(b"x")),
    "a file nobody named": (tarfile.REGTYPE, "../../escaped"),
    "a blob nobody named": (tarfile.REGTYPE, "blobs/sha256/" + digest(b"")),
}


@pytest.mark.parametrize("what", STRANGERS)
def test_something_else_in_the_file(what: str, tmp_path: Path, store: Store) -> None:
    member = tarfile.TarInfo(STRANGERS[what][1])
    member.type = STRANGERS[what][0]
    member.linkname = "/etc/passwd" if member.type == tarfile.SYMTYPE else ""
    bundle = forge(tmp_path / "bundle.tar", manifest({"a": FILE}), members=[member])
    assert refused(bundle, store).id == "HOST_BUNDLE_DAMAGED"


def test_an_extension_of_any_size_is_not_read(tmp_path: Path, store: Store) -> None:
    """A tar header may announce gigabytes of extended attributes, which readers load into memory."""
    member = tarfile.TarInfo("././@PaxHeader")
    member.type, member.size = tarfile.XHDTYPE, 1 << 40
    (tmp_path / "bundle.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert refused(tmp_path / "bundle.tar", store).id == "HOST_BUNDLE_DAMAGED"
