"""Archives from nodes, spoiled at random: never a crash, never a hang, never a name that was not asked for."""

from __future__ import annotations

import io
import random
import tarfile

import pytest
from support.hostilenode import ARCHIVES, archive

from minikube.drivers import archives
from minikube.drivers.values import File
from minikube.output.reason import Reason

FILES = {"/etc/asked/one": File(b"1" * 700, 0o600), "/etc/asked/sub/ünïcödé": File(b"", 0o755), "/etc/asked/" + "long" * 40: File(b"x")}


def test_what_was_packed_comes_out() -> None:
    assert archives.unpack(archives.pack(FILES), ["/etc/asked"]) == FILES
    assert archives.unpack(archives.pack(FILES), ["/etc/asked/one", "/etc/asked/sub/", "etc/asked/" + "long" * 40]) == FILES
    assert archives.unpack(b"", ["/etc/asked"]) == {}


def test_no_special_bits_are_packed() -> None:
    with tarfile.open(fileobj=io.BytesIO(archives.pack({"/a": File(b"x", 0o7755)}))) as made:
        assert made.getmember("a").mode == 0o755


def test_many_small_files_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 5)
    with pytest.raises(Reason, match="more than 5 files"):
        archives.unpack(archives.pack({f"/etc/asked/{number}": File(b"") for number in range(9)}), ["/etc/asked"])
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    with pytest.raises(Reason, match="more than"):
        archives.unpack(archives.pack({"/etc/asked/a": File(b"x" * 2000)}), ["/etc/asked"])


def test_a_sparse_file_whose_map_is_cut_off_is_refused() -> None:
    entry = tarfile.TarInfo("etc/asked/one")
    entry.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[482] = 1  # more of the map follows
    header[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(header))[0]  # type: ignore[attr-defined]
    with pytest.raises(Reason, match="what is no archive"):
        archives.unpack(bytes(header), ["/etc/asked"])


@pytest.mark.parametrize("seed", range(10))
def test_spoiled_archives_give_what_was_asked_for_or_a_reason(seed: int) -> None:
    chance = random.Random(seed)
    sources = [archives.pack(FILES), *ARCHIVES.values(), archive()]
    for _ in range(150):
        data = bytearray(chance.choice(sources))
        for _ in range(chance.randrange(0, 12)):
            # Headers are where it matters.
            at = chance.randrange(min(len(data), 1536)) if data else 0
            data[at : at + 1] = chance.choice([b"", b"\xff", b"\x80", b"/", b"..", b"7", bytes([chance.randrange(256)])])
        if chance.random() < 0.2:
            data = data[: chance.randrange(len(data) + 1)]
        if chance.random() < 0.7 and len(data) >= 512:
            _sign(data)
        try:
            found = archives.unpack(bytes(data), ["/etc/asked"])
        except Reason:
            continue
        for path, file in found.items():
            assert path == "/etc/asked" or path.startswith("/etc/asked/")
            assert ".." not in path.split("/")
            assert file.mode & ~0o777 == 0


def _sign(data: bytearray) -> None:
    """Make the first header's checksum right again, so that more than the checksum is tried."""
    data[148:156] = b" " * 8
    data[148:156] = f"{sum(data[:512]):06o}\0 ".encode()
