"""Archives of images and programs that were made to do damage: a reason each, nothing outside, and no memory or time without end."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import resource
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.smallbundle import tree

from minikube.artifacts.endpoints import ReleasedFile
from minikube.artifacts.imagearchive import NotAnImage, machine_architecture, opened
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.artifacts.release import _take_out
from minikube.artifacts.tarreading import BadArchive, members
from minikube.output.reason import Reason

MEMORY = 1 << 30


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def blob(data: bytes) -> str:
    return f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def refused(path: Path) -> str:
    with pytest.raises(NotAnImage) as caught, opened(path):
        pass
    return str(caught.value)


def layout(*, layer: bytes = b"layer", manifest_extra: dict[str, Any] | None = None) -> dict[str, bytes]:
    config = as_json({"architecture": machine_architecture(), "rootfs": {"diff_ids": [digest(layer)]}})
    manifest = as_json(
        {"config": {"digest": digest(config), "size": len(config)}, "layers": [{"digest": digest(layer), "size": len(layer)}]}
        | (manifest_extra or {})
    )
    index = as_json({"manifests": [{"digest": digest(manifest), "size": len(manifest)}]})
    return {"index.json": index, blob(manifest): manifest, blob(config): config, blob(layer): layer}


class TestDirectories:
    def test_files_outside_are_not_part_of_an_image(self, tmp_path: Path) -> None:
        secret, directory = tmp_path / "secret", tmp_path / "layout"
        secret.write_bytes(b"secret")
        directory.mkdir()
        config = as_json({"rootfs": {"diff_ids": [digest(b"secret")]}})
        (directory / "config").write_bytes(config)
        (directory / "link").symlink_to(secret)
        for name in ("../secret", str(secret), "link"):
            (directory / "manifest.json").write_bytes(as_json([{"Config": "config", "Layers": [name]}]))
            assert "is missing" in refused(directory)
        (directory / "manifest.json").unlink()
        for name, content in layout(layer=b"secret").items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(content)
        (directory / blob(b"secret")).unlink()
        (directory / blob(b"secret")).symlink_to(secret)
        with opened(directory) as (image,):
            assert image.layers[0].piece is None

    def test_links_within_are_followed(self, tmp_path: Path) -> None:
        for name, content in layout().items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content)
        (tmp_path / blob(b"layer")).rename(tmp_path / "elsewhere")
        (tmp_path / blob(b"layer")).symlink_to("../../elsewhere")
        with opened(tmp_path) as (image,):
            assert image.layers[0].piece is not None
            assert image.layers[0].piece.read() == b"layer"


class TestDocuments:
    def test_a_blob_is_what_its_name_says(self, tmp_path: Path) -> None:
        for which in ("config", "layers"):
            files = layout()
            manifest = next(content for content in files.values() if b'"layers"' in content)
            changed = manifest if which == "layers" else next(content for content in files.values() if b"rootfs" in content)
            files[blob(changed)] = changed + b" "
            assert "another content" in refused(write_tar(tmp_path / "x.tar", files))

    def test_a_layer_has_the_size_that_is_said(self, tmp_path: Path) -> None:
        extra = {"layers": [{"digest": digest(b"layer"), "size": 1 << 40}]}
        assert "should have" in refused(write_tar(tmp_path / "x.tar", layout(manifest_extra=extra)))

    def test_more_layers_than_can_be_unpacked(self, tmp_path: Path) -> None:
        extra = {"layers": [{"digest": digest(b"layer"), "size": 5}] * 3000}
        assert "3000 layers" in refused(write_tar(tmp_path / "x.tar", layout(manifest_extra=extra)))
        config = as_json({"rootfs": {"diff_ids": [digest(b"x")] * 3000}})
        docker = as_json([{"Config": "c", "Layers": ["x"] * 3000}])
        assert "3000 layers" in refused(write_tar(tmp_path / "y.tar", {"manifest.json": docker, "c": config, "x": b"x"}))

    def test_indexes_that_lead_to_each_other_many_times_over(self, tmp_path: Path) -> None:
        """A tree of ten levels with a thousand branches each: 10^30 ways that all lead nowhere."""
        files, below = {}, digest(b"nowhere")
        for _ in range(10):
            content = as_json({"manifests": [{"digest": below, "size": 1}] * 1000})
            files[blob(content)] = content
            below = digest(content)
        files["index.json"] = as_json({"manifests": [{"digest": below, "size": 1}] * 1000})
        assert "there is no image" in refused(write_tar(tmp_path / "x.tar", files))

    def test_deep_json(self, tmp_path: Path) -> None:
        assert "cannot be understood" in refused(write_tar(tmp_path / "x.tar", {"index.json": b"[" * 100_000}))


class TestTarFiles:
    def header(self, name: str, size: int, kind: bytes) -> bytes:
        member = tarfile.TarInfo(name)
        member.size, member.type = size, kind
        return member.tobuf(tarfile.GNU_FORMAT)

    @pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
    def test_an_extended_header_of_gigabytes(self, tmp_path: Path, kind: bytes) -> None:
        path = tmp_path / "x.tar"
        with path.open("wb") as stream:
            stream.write(self.header("x", 8 << 30, kind))
            stream.truncate(9 << 30)
        _with_little_memory(lambda: refused(path))

    def test_sizes_below_zero_and_beyond_the_end(self, tmp_path: Path) -> None:
        for size in (-512, -1, -(1 << 40), 1 << 60):
            path = tmp_path / "x.tar"
            path.write_bytes(self.header("x", 512, tarfile.REGTYPE) + bytes(512) + self.header("y", size, tarfile.REGTYPE) + bytes(2048))
            refused(path)

    @pytest.mark.parametrize(
        "headers",
        [
            {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
            {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "q"},
            {"GNU.sparse.map": "a,b", "GNU.sparse.size": "1"},
            {"GNU.sparse.size": "1x", "GNU.sparse.numblocks": "1"},
        ],
    )
    def test_sparse_files_whose_map_is_nonsense(self, headers: dict[str, str]) -> None:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
            member = tarfile.TarInfo("x")
            member.pax_headers = headers
            archive.addfile(member)
        stream.seek(0)
        with pytest.raises(BadArchive):
            list(members(stream, most=1 << 20))

    def test_a_sparse_file_whose_map_is_cut_off(self) -> None:
        header = bytearray(self.header("x", 0, tarfile.GNUTYPE_SPARSE))
        header[482] = 1  # more of the map follows
        header[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(header))[0]
        with pytest.raises(BadArchive):
            list(members(io.BytesIO(bytes(header)), most=1 << 20))

    def test_headers_of_headers(self, tmp_path: Path) -> None:
        (tmp_path / "x.tar").write_bytes(self.header("x", 0, tarfile.XHDTYPE) * 5000 + bytes(1024))
        refused(tmp_path / "x.tar")

    def test_more_members_than_any_image_has(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("minikube.artifacts.tarreading._MOST_MEMBERS", 1000)  # a hundred thousand take their time
        (tmp_path / "x.tar").write_bytes(self.header("x", 0, tarfile.REGTYPE) * 1001 + bytes(1024))
        assert "more than 1000 members" in refused(tmp_path / "x.tar")

    def test_a_compressed_archive_that_grows_without_measure(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("minikube.artifacts.imagearchive._GROWTH_ANYWAY", 1 << 20)
        with gzip.open(tmp_path / "x.tar.gz", "wb", compresslevel=1) as bomb:
            for _ in range(20):
                bomb.write(bytes(1 << 20))
        before = set(Path("/tmp").glob("minikube-image-*"))
        assert "as no image does" in refused(tmp_path / "x.tar.gz")
        assert set(Path("/tmp").glob("minikube-image-*")) <= before


def test_damage_at_random_ends_in_reasons(tmp_path: Path) -> None:
    chance = random.Random(23)
    write_archive(tmp_path / "oci.tar", [Image("example.org/a:1", ((Entry("a", content=b"a" * 700),), (Entry("b", target="a"),)))])
    config = as_json({"rootfs": {"diff_ids": [digest(b"x")]}})
    write_tar(
        tmp_path / "docker.tar",
        {"c.json": config, "x": b"x", "manifest.json": as_json([{"Config": "c.json", "Layers": ["x"], "RepoTags": ["a:1"]}])},
    )
    originals = [(tmp_path / name).read_bytes() for name in ("oci.tar", "docker.tar")]
    before, outcomes = tree(tmp_path), {"read": 0, "refused": 0}

    def fuzz() -> None:
        for number in range(600):
            data = bytearray(chance.choice(originals))
            for _ in range(chance.randrange(1, 6)):
                place = chance.randrange(len(data))
                # Mostly where something is: headers and documents.
                if chance.random() < 0.8:
                    place = place // 512 * 512 + chance.choice((0, 100, 108, 124, 126, 135, 148, 156, 157, 257, 345, chance.randrange(512)))
                data[min(place, len(data) - 1)] = chance.randrange(256)
            if chance.random() < 0.1:
                del data[chance.randrange(len(data)) :]
            file = tmp_path / "fuzzed.tar"
            file.write_bytes(gzip.compress(bytes(data), 1) if number % 5 == 0 else bytes(data))
            try:
                with opened(file) as images:
                    outcomes["read"] += 1
                    assert all(layer.digest.startswith("sha256:") for image in images for layer in image.layers)
            except ValueError:
                outcomes["refused"] += 1

    _with_little_memory(fuzz)
    (tmp_path / "fuzzed.tar").unlink()
    assert tree(tmp_path) == before
    assert min(outcomes.values()) > 20


class TestReleases:
    FILE = ReleasedFile("x/programs.tgz", (), members=("program",))

    def test_only_the_program_is_taken_and_only_as_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "target").mkdir()
        with tarfile.open(tmp_path / "x.tgz", "w:gz") as archive:
            for name, kind in (
                ("../program", tarfile.REGTYPE),
                ("a/program", tarfile.SYMTYPE),
                ("b/program", tarfile.LNKTYPE),
                ("c/program", tarfile.CHRTYPE),
            ):
                member = tarfile.TarInfo(name)
                member.type, member.linkname, member.mode = kind, "/etc/passwd", 0o6777
                archive.addfile(member, io.BytesIO())
        _take_out(tmp_path / "x.tgz", self.FILE, tmp_path / "target")
        assert (tmp_path / "target" / "program").stat().st_mode & 0o7777 == 0o755
        assert {path.name for path in tmp_path.rglob("*")} == {"x.tgz", "target", "program"}

    def test_bombs_and_damage(self, tmp_path: Path) -> None:
        (tmp_path / "target").mkdir()
        header = TestTarFiles().header
        for content in (
            b"",
            b"garbage",
            header("x", 8 << 30, tarfile.XHDTYPE),
            header("program", 8 << 30, tarfile.REGTYPE),
            header("x", -512, tarfile.REGTYPE),
        ):
            (tmp_path / "x.tgz").write_bytes(gzip.compress(content + bytes(1 << 16)))
            with pytest.raises(Reason) as caught:
                _with_little_memory(lambda: _take_out(tmp_path / "x.tgz", self.FILE, tmp_path / "target"))
            assert caught.value.id == "INET_BAD_CHECKSUM"


def _with_little_memory(work: Any) -> None:
    """MemoryError beyond this, which nothing here may cause."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        work()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
