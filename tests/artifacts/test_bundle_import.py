"""Bundles: what goes in comes out, whole and checked, and goes on where it was interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.smallbundle import VERSION, archive, make, recipes, tree

from minikube.artifacts import bundlewriter
from minikube.artifacts.bundleimport import Imported, import_bundle
from minikube.artifacts.bundlereader import open_bundle
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import silent
from minikube.output.reason import Reason

SOURCE = Path(__file__).parents[2] / "src"
NAMES = ["program", "laid-out", "image-my-app.tar"]


def bring(bundle: Path, store: Store) -> Imported:
    with open_bundle(bundle) as opened:
        return import_bundle(opened, store, silent())


@pytest.fixture
def there(tmp_path: Path) -> Store:
    return Store(tmp_path / "there")


@pytest.mark.parametrize("name", ["bundle.tar", "bundle.tar.gz"])
def test_what_goes_in_comes_out(tmp_path: Path, there: Store, name: str) -> None:
    imported = bring(make(tmp_path, name), there)
    assert [entry.name for entry in imported.new] == NAMES
    here = Store(tmp_path / "made-in")
    for recipe in recipes(here):
        assert there.has(recipe), recipe.name
        assert tree(there.path(recipe)) == tree(here.path(recipe))
    assert there.verify() == {}
    image = there.entry("image-my-app.tar", imported.new[-1].digest)
    assert image is not None
    assert (image / "image.tar").read_bytes() == archive(tmp_path).read_bytes()
    assert list((there.root / "building").iterdir()) == []


def test_one_file_stays_one_and_a_copy_stays_a_copy(tmp_path: Path, there: Store) -> None:
    bring(make(tmp_path), there)
    program, laid_out = (there.path(recipe) for recipe in recipes(there))
    assert (laid_out / "linked").samefile(program / "bin/program")
    assert not (laid_out / "copied").samefile(program / "bin/program")


def test_the_same_store_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.tar", "one.tar.gz"):
        first = make(tmp_path, name).read_bytes()
        assert make(tmp_path, name.replace("one", "two")).read_bytes() == first


def test_a_second_import_has_nothing_to_do(tmp_path: Path, there: Store) -> None:
    bundle = make(tmp_path)
    bring(bundle, there)
    before = tree(there.root / "entries")
    assert [entry.name for entry in bring(bundle, there).present] == NAMES
    assert tree(there.root / "entries") == before


def test_what_was_built_here_stays(tmp_path: Path, there: Store) -> None:
    """The same recipe may have other bytes on another machine (another Go): both are good, each with its own."""

    def other(target: Path, progress: object) -> None:
        (target / "bin").mkdir()
        (target / "bin/program").write_bytes(b"compiled here")

    there.provide(Recipe("program", "1", other), silent())
    imported = bring(make(tmp_path), there)
    assert [entry.name for entry in imported.new] == NAMES[1:]
    program, laid_out = (there.path(recipe) for recipe in recipes(there))
    assert (program / "bin/program").read_bytes() == b"compiled here"
    assert (laid_out / "linked").read_bytes() == (laid_out / "copied").read_bytes() == b"the program" * 1000


def test_a_damaged_entry_is_replaced(tmp_path: Path, there: Store) -> None:
    bundle = make(tmp_path)
    bring(bundle, there)
    (there.path(recipes(there)[0]) / "bin/program").write_bytes(b"?")
    assert "program" in [entry.name for entry in bring(bundle, there).new]
    assert there.verify() == {}


def test_a_damaged_store_makes_no_bundle(tmp_path: Path) -> None:
    make(tmp_path)
    store = Store(tmp_path / "made-in")
    made = recipes(store)
    content = bundlewriter.gather(made, [], [VERSION], store)
    victim = store.path(made[0]) / "bin/program"
    victim.write_bytes(b"x" * victim.stat().st_size)
    with pytest.raises(Reason, match="is not what it was made as"):
        bundlewriter.write(tmp_path / "bad.tar", content, silent())
    assert not list(tmp_path.glob("*bad*"))


@pytest.mark.parametrize("content", [b"no archive at all", b""])
def test_only_archives_of_images_go_in(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image.tar").write_bytes(content)
    with pytest.raises(Reason, match="not an archive of images"):
        bundlewriter.image_names(tmp_path / "image.tar")


def test_there_is_no_room(tmp_path: Path, there: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = make(tmp_path)
    usage = os.statvfs(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10, "total": usage.f_blocks})())
    with pytest.raises(Reason) as caught:
        bring(bundle, there)
    assert caught.value.id == "RSRC_INSUFFICIENT_STORAGE"


PROGRAM = """
import sys, time
from pathlib import Path
from minikube.artifacts import bundleimport
from minikube.artifacts.bundlereader import open_bundle
from minikube.artifacts.store import Store
from minikube.output.progress import silent
put = bundleimport._Import._put
def slow(self, file, place):
    print("putting", flush=True)
    time.sleep(0 if "program-" in str(place) else 60)
    put(self, file, place)
bundleimport._Import._put = slow
with open_bundle(Path(sys.argv[1])) as bundle:
    bundleimport.import_bundle(bundle, Store(Path(sys.argv[2])), silent())
"""


def test_an_import_that_was_killed_goes_on(tmp_path: Path, there: Store) -> None:
    bundle = make(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(bundle), str(there.root)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCE)}
    ) as process:
        first = there.path(recipes(there)[0])
        deadline = time.monotonic() + 60
        while not (there.root / "building").exists() or not first.exists() or not list((there.root / "building").glob("laid-out*")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert not there.has(recipes(there)[1])
    assert [entry.name for entry in bring(bundle, there).new] == NAMES[1:]
    assert there.verify() == {}
    assert list((there.root / "building").iterdir()) == []
