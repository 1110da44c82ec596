"""Two builds of a component give the same bytes, wherever and whenever they are made."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from minikube.artifacts.buildinfo import read_build_info
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.gocomponents import GoComponent, go_components
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.pause import pause_recipe
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import silent

pytestmark = [pytest.mark.build, pytest.mark.skipif(not shutil.which("go") or not shutil.which("gcc"), reason="compiles")]


def workshop(root: Path) -> Store:
    """A store of its own that shares sources and compiled packages with the machine's: programs are linked anew."""
    theirs = Store().root / "go"
    (root / "go").mkdir(parents=True)
    for name in ("mod", "build"):
        (theirs / name).mkdir(parents=True, exist_ok=True)
        (root / "go" / name).symlink_to(theirs / name)
    return Store(root)


def cni_plugins() -> GoComponent:
    return next(component for component in go_components(DEFAULT) if component.name == "cni-plugins")


def one_plugin(store: Store) -> Recipe:
    whole = cni_plugins()
    return go_recipe(whole._replace(programs=tuple(program for program in whole.programs if program.binary == "loopback")), store)


def pause(store: Store) -> Recipe:
    return pause_recipe(DEFAULT.pause, DEFAULT.kubernetes, store)


@pytest.mark.parametrize("recipe", [pause, one_plugin])
def test_two_builds_are_the_same(recipe: Callable[[Store], Recipe], tmp_path: Path) -> None:
    built = []
    for place in (tmp_path / "here", tmp_path / "some" / "where" / "else"):
        store = workshop(place)
        content = store.provide(recipe(store), silent())
        built.append({path.name: path.read_bytes() for path in content.iterdir()})
    assert built[0] == built[1]
    assert not [name for name, data in built[0].items() if str(tmp_path).encode() in data]


def test_what_is_in_the_store_is_what_a_build_gives_today(tmp_path: Path) -> None:
    """The machine's own was made at another time, in another directory, beside seven other programs."""
    entry = Store().entry((whole := go_recipe(cni_plugins(), Store())).name, whole.digest)
    if entry is None:
        pytest.skip("the component is not in the store yet")
    store = workshop(tmp_path)
    again = store.provide(one_plugin(store), silent()) / "loopback"
    before, now = read_build_info(entry / "loopback"), read_build_info(again)
    assert before is not None
    assert now is not None
    if before.go != now.go:
        pytest.skip(f"the store's was compiled with {before.go}, and now there is {now.go}")
    assert again.read_bytes() == (entry / "loopback").read_bytes()
