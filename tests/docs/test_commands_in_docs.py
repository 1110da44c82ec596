"""Commands in README.md and docs/ work: those in blocks marked `console` are typed, in order, and must succeed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_blocks import blocks, minikube_calls, pages
from support.minikube import CLONE, Place, temporary_place
from support.testimages import BUSYBOX, HTTP, build_test_images

from minikube.cli.parser import understand
from minikube.profiles.paths import store

BUILD_SECONDS = 1800  # an empty store is filled by the first start
# Tests reach no registry: an image of the tests stands in for each one that the pages name.
STAND_INS = {"docker.io/kicbase/echo-server:1.0": HTTP, "docker.io/library/busybox:1.37": BUSYBOX}
OWN_IMAGE = "docker.io/library/my-app:1"  # the reader's own, in the file my-app.tar

ALONE = [page for page in pages() if any(block.kind == "console" and not block.needs_cluster for block in blocks(page))]
TOGETHER = [page for page in pages() if any(block.kind == "console" and block.needs_cluster for block in blocks(page))]


def name(page: Path) -> str:
    return str(page.relative_to(CLONE))


class Reader:
    """Somebody with the launcher on the PATH, who types what a page says into bash."""

    def __init__(self, place: Place, components: Path) -> None:
        self.directory = place.directory
        self._bin = place.directory / "bin"
        self._bin.mkdir()
        for link in (self._bin / "minikube", self._bin / "kubectl", place.directory / "minikube"):
            link.symlink_to(CLONE / "minikube")
        own = {"HOME": str(place.directory), "MINIKUBE_STORE": str(components), "PATH": f"{self._bin}:{os.environ['PATH']}"}
        self.environment = place.environment | own

    def type(self, line: str, *, input: bytes = b"", seconds: float = BUILD_SECONDS) -> bytes:
        deadline = time.monotonic() + 30
        while True:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line], input=input, capture_output=True, env=self.environment, cwd=self.directory,
                timeout=seconds, check=False,
            )  # fmt: skip
            # A service that was made a moment ago may not answer yet; a person would just ask again.
            if done.returncode == 0 or not line.startswith("curl ") or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        assert done.returncode == 0, f"$ {line}\nexit code {done.returncode}\n{(done.stdout + done.stderr).decode(errors='replace')}"
        return done.stdout


class ReaderWithCluster(Reader):
    page = ""
    """The text being read: images are brought for what it names, and for nothing else."""

    def type(self, line: str, *, input: bytes = b"", seconds: float = BUILD_SECONDS) -> bytes:
        output = super().type(line, input=input, seconds=seconds)
        for words in minikube_calls(line):
            named = any(image.partition(":")[0].rpartition("/")[2] in self.page for image in (*STAND_INS, OWN_IMAGE))
            if named and words[0] == "start" and "--dry-run" not in words:
                profile = re.search(r"(?:-p |--profile=)(\S+)", " ".join(words))
                self._bring_images(profile[1] if profile else "minikube")
        return output

    def _bring_images(self, profile: str) -> None:
        archive = self.directory / "test-images.tar"
        if not archive.exists():
            image = max(store().glob("entries/node-image-*/*/usr"), key=lambda path: path.stat().st_mtime).parent
            build_test_images(self.directory, node_image=image)
        ctr = "ctr -n k8s.io images"
        tags = [f"{ctr} tag --force {ours} {theirs}" for theirs, ours in (STAND_INS | {OWN_IMAGE: HTTP}).items()]
        ssh = f"minikube ssh -p {profile} --"
        super().type(f"{ssh} '{' && '.join((f'{ctr} import -', *tags))}'", input=archive.read_bytes())
        own = super().type(f"{ssh} '{ctr} export --local - {OWN_IMAGE} && {ctr} rm {OWN_IMAGE} >&2'")
        (self.directory / "my-app.tar").write_bytes(own)


def test_the_readme_begins_with_two_commands() -> None:
    lines = [line for block in blocks(CLONE / "README.md") for line in block.commands]
    assert lines[:2] == ["./minikube start", "make test"]


@pytest.mark.parametrize("page", pages(), ids=name)
def test_commands_are_understood_and_built(page: Path) -> None:
    for line in (line for block in blocks(page) for line in block.commands):
        for words in minikube_calls(line):
            command = understand(words).command
            assert command is not None, line
            assert not command.unbuilt, line


@pytest.mark.parametrize("page", ALONE, ids=name)
def test_commands_without_a_cluster(page: Path, tmp_path: Path) -> None:
    sum_ = subprocess.run(["cksum"], stdin=(CLONE / "requirements.lock").open(), capture_output=True, text=True, check=True).stdout.split()[
        0
    ]
    python = tmp_path / "store" / f"venv-{sum_}" / "bin" / "python"  # the Python of these tests, where the launcher looks for its own
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    reader = Reader(Place(tmp_path), tmp_path / "store")
    for block in blocks(page):
        if block.kind == "console" and not block.needs_cluster:
            for line in block.commands:
                reader.type(line, seconds=60)


@pytest.fixture(scope="module")
def reader() -> Iterator[ReaderWithCluster]:
    with temporary_place() as place:
        yield ReaderWithCluster(place, store())


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0, reason="real clusters on the native driver need root")
@pytest.mark.parametrize("page", TOGETHER, ids=name)
def test_commands_with_a_cluster(page: Path, reader: ReaderWithCluster) -> None:
    reader.page = page.read_text(encoding="utf-8")
    lines = [line for block in blocks(page) if block.kind == "console" for line in block.commands]
    if not re.match(r"(\./)?minikube start", lines[0]):
        reader.type("minikube start")  # a how-to begins where the reader has a cluster
    try:
        for block in blocks(page):
            if block.file:
                (reader.directory / block.file).write_text(block.text)
            for line in block.commands if block.kind == "console" else ():
                reader.type(line)
    except BaseException:
        reader.type("minikube delete --all")  # what one page leaves half done is not the next one's
        raise
