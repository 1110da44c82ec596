"""The store: made once, checked on use, safe with several processes and with any of them killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest

from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress, silent
from minikube.output.reason import Reason

SOURCE = Path(__file__).parents[2] / "src"


def writing(
    text: str, *, name: str = "thing", identity: str = "1", made: list[str] | None = None, needs: tuple[Recipe, ...] = ()
) -> Recipe:
    """A recipe for a small tree; `made` counts how often it is built."""

    def build(target: Path, progress: Progress) -> None:
        if made is not None:
            made.append(name)
        (target / "bin").mkdir()
        (target / "bin" / "program").write_text(text)
        (target / "bin" / "program").chmod(0o755)
        (target / "link").symlink_to("bin/program")
        (target / "empty").mkdir()

    return Recipe(name, identity, build, needs=needs)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_made_once(store: Store) -> None:
    made: list[str] = []
    recipe = writing("hello", made=made)
    assert store.entry(recipe.name, recipe.digest) is None
    first = store.provide(recipe, silent())
    assert (first / "link").read_text() == "hello"
    assert store.provide(recipe, silent()) == first == store.path(recipe)
    assert made == ["thing"]
    assert list((store.root / "building").iterdir()) == []


def test_another_identity_is_another_entry(store: Store) -> None:
    one, two = writing("one", identity="1"), writing("two", identity="2")
    assert (store.provide(one, silent()) / "link").read_text() == "one"
    assert (store.provide(two, silent()) / "link").read_text() == "two"
    assert store.has(one)


def test_needs_come_first_and_count(store: Store) -> None:
    made: list[str] = []
    base = writing("base", name="base", made=made)
    recipe = writing("top", made=made, needs=(base,))
    store.provide(recipe, silent())
    assert made == ["base", "thing"]
    assert recipe.digest != writing("top", needs=(writing("base", name="base", identity="2"),)).digest


def _same_size(content: Path) -> None:
    (content / "bin/program").write_text("HELLO")
    os.utime(content / "bin/program", ns=(1, 1))


DAMAGES = {
    "changed bytes": _same_size,
    "cut short": lambda content: os.truncate(content / "bin/program", 2),
    "missing file": lambda content: (content / "bin/program").unlink(),
    "missing directory": lambda content: (content / "empty").rmdir(),
    "added file": lambda content: (content / "stranger").touch(),
    "permissions": lambda content: (content / "bin/program").chmod(0o600),
    "link elsewhere": lambda content: ((content / "link").unlink(), (content / "link").symlink_to("/etc/passwd")),
    "seal destroyed": lambda content: (content.parent / "seal").write_text("{}"),
    "seal missing": lambda content: (content.parent / "seal").unlink(),
    "content missing": lambda content: shutil.rmtree(content),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_said_and_made_good(store: Store, damage: str) -> None:
    recipe = writing("hello")
    content = store.provide(recipe, silent())
    DAMAGES[damage](content)
    assert not store.has(recipe)
    assert list(store.verify()) == [recipe.entry_name]
    said = StringIO()
    assert (store.provide(recipe, Progress(said)) / "link").read_text() == "hello"
    assert "damaged" in said.getvalue()
    assert store.verify() == {}
    assert (store.root / "damaged" / recipe.entry_name).exists()


def test_bytes_changed_behind_an_unchanged_fingerprint_are_found_by_a_full_check(store: Store) -> None:
    content = store.provide(writing("hello"), silent())
    program = content / "bin/program"
    before = program.stat()
    with program.open("r+b") as stream:
        stream.write(b"HELLO")
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.verify(full=False) == {}
    assert "another content" in next(iter(store.verify().values()))


def test_touched_copied_and_linked_files_are_still_good(store: Store, tmp_path: Path) -> None:
    made: list[str] = []
    recipe = writing("hello", made=made)
    content = store.provide(recipe, silent())
    seal = (content.parent / "seal").read_bytes()
    os.link(content / "bin/program", tmp_path / "in-a-node")
    assert store.has(recipe)
    assert (content.parent / "seal").read_bytes() == seal
    os.utime(content / "bin/program")
    assert store.has(recipe)
    assert (content.parent / "seal").read_bytes() != seal, "the new time is sealed, so that the next check is quick again"
    shutil.copytree(store.root, tmp_path / "copy", symlinks=True)
    assert Store(tmp_path / "copy").has(recipe)
    assert made == ["thing"]


def test_a_failed_build_leaves_nothing(store: Store) -> None:
    def build(target: Path, progress: Progress) -> None:
        (target / "half").touch()
        raise Reason("MK_COMPONENT_BUILD", "no")

    recipe = Recipe("broken", "1", build)
    with pytest.raises(Reason, match="no"):
        store.provide(recipe, silent())
    assert not store.has(recipe)
    assert list((store.root / "building").iterdir()) == []


SLOW_BUILD = """
import sys, time
from pathlib import Path
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress

root, seconds = Path(sys.argv[1]), float(sys.argv[2])

def build(target, progress):
    with (root / "made").open("a") as made:
        made.write("x")
    (target / "first").write_text("1")
    (root / "started").touch()
    time.sleep(seconds)
    (target / "second").write_text("2")

print(Store(root / "store").provide(Recipe("slow", "1", build, what="the slow thing"), Progress(sys.stdout)))
"""


def in_another_process(directory: Path, seconds: float) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_BUILD, str(directory), str(seconds)], env=environment, stdout=subprocess.PIPE, text=True
    )


def wait_for(path: Path) -> None:
    for _ in range(500):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} did not come")


def test_two_processes_make_it_once_and_the_second_says_what_it_waits_for(tmp_path: Path) -> None:
    first = in_another_process(tmp_path, 1)
    wait_for(tmp_path / "started")
    second = in_another_process(tmp_path, 1)
    outputs = [process.communicate(timeout=30)[0] for process in (first, second)]
    assert (tmp_path / "made").read_text() == "x"
    assert f"waiting for process {first.pid}, which is making the slow thing" in outputs[1]
    assert outputs[0].splitlines()[-1] == outputs[1].splitlines()[-1]


def test_killed_in_the_middle(tmp_path: Path) -> None:
    first = in_another_process(tmp_path, 60)
    wait_for(tmp_path / "started")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    store = Store(tmp_path / "store")
    assert len(list((store.root / "building").iterdir())) == 1
    assert store.verify() == {}
    second = in_another_process(tmp_path, 0)
    content = Path(second.communicate(timeout=30)[0].splitlines()[-1])
    assert sorted(path.name for path in content.iterdir()) == ["first", "second"]
    assert list((store.root / "building").iterdir()) == []


def test_sweeping_takes_only_what_nobody_builds(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    running = in_another_process(tmp_path, 1)
    wait_for(tmp_path / "started")
    (store.root / "building" / "gone-0123.abc" / "content").mkdir(parents=True)
    store.sweep()
    assert [path.name.partition("-")[0] for path in (store.root / "building").iterdir()] == ["slow"]
    running.communicate(timeout=30)
    assert running.returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False).returncode:
        pytest.skip("mounts are not allowed here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    recipe = Recipe("large", "1", lambda target, _progress: (target / "data").write_bytes(bytes(2 << 20)) and None)
    with pytest.raises(Reason) as caught:
        Store(small_disk).provide(recipe, silent())
    assert caught.value.id == "RSRC_INSUFFICIENT_STORAGE"
    assert Store(small_disk).provide(writing("fits afterwards"), silent()).exists()


def test_a_read_only_store_serves_what_it_has(small_disk: Path) -> None:
    store, recipe = Store(small_disk), writing("hello")
    content = store.provide(recipe, silent())
    os.utime(content / "bin/program")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert store.provide(recipe, silent()) == content
    with pytest.raises(Reason) as caught:
        store.provide(writing("new", identity="2"), silent())
    assert caught.value.id == "HOST_HOME_PERMISSION"
    assert "MINIKUBE_STORE" in caught.value.advice
