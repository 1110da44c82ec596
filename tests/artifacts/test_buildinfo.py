"""What programs say of themselves, also programs of strangers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from minikube.artifacts.buildinfo import Module, read_build_info

SUM = "h1:" + "A" * 43 + "="


def text(content: bytes) -> bytes:
    size, found = len(content), b""
    while size > 0x7F:
        found, size = found + bytes([size & 0x7F | 0x80]), size >> 7
    return found + bytes([size]) + content


def program(*lines: str) -> bytes:
    listed = bytes(16) + "\n".join(lines).encode() + bytes(16)
    return b"\x7fELF" + bytes(12) + b"\xff Go buildinf:\x08\x02" + bytes(16) + text(b"go1.26.1") + text(listed) + bytes(64)


LINES = (
    "path\tcommand-line-arguments",
    "mod\texample.org/app\t(devel)",
    f"dep\tgithub.com/a/b\tv1.2.3\t{SUM}",
    "=>\t../b\t",
    "build\tCGO_ENABLED=0",
)


def test_modules_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(program(*LINES))
    info = read_build_info(tmp_path / "program")
    assert info is not None
    assert info.modules == (Module("github.com/a/b", "v1.2.3", SUM),)
    assert (info.go, info.settings) == ("go1.26.1", {"CGO_ENABLED": "0"})


IMPOSSIBLE = ("dep\t../../etc\tv1.0.0", "dep\t/etc\tv1.0.0", "dep\ta\tv1/../../x", "dep\ta\tv1.0.0\th1:x", "dep", "=>\ta\tv1.0.0")


@pytest.mark.parametrize("line", [*IMPOSSIBLE, "dep\t\x1b[2J\tv1.0.0"])
def test_modules_that_cannot_be(tmp_path: Path, line: str) -> None:
    """Their names are looked for among the modules on this machine, for their licences."""
    (tmp_path / "program").write_bytes(program(line))
    assert read_build_info(tmp_path / "program") is None


def test_programs_at_random(tmp_path: Path) -> None:
    chance, original = random.Random(41), program(*LINES)
    for _ in range(500):
        data = bytearray(original)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(4, len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(5, len(data)) :]
        (tmp_path / "program").write_bytes(data)
        read_build_info(tmp_path / "program")


def test_a_number_without_end(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(program(*LINES)[:48] + b"\x80" * (8 << 20))
    assert read_build_info(tmp_path / "program") is None
