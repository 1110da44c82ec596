"""A run over several recipes: said beforehand, only what is missing, dependencies first."""

from io import StringIO
from pathlib import Path

import pytest

from minikube.artifacts.catalogue import VERSION_SETS
from minikube.artifacts.provide import binaries, binary_recipes, missing_recipes, provide_all
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress, silent
from minikube.output.reason import Reason


def recipe(name: str, made: list[str], *, needs: tuple[Recipe, ...] = (), packages: tuple[str, ...] = ()) -> Recipe:
    return Recipe(name, "1", lambda _target, _progress: made.append(name), needs=needs, host_packages=packages, what=f"the {name}")


def test_only_what_is_missing_is_said_and_made(tmp_path: Path) -> None:
    made: list[str] = []
    store = Store(tmp_path)
    base, other = recipe("base", made), recipe("other", made)
    top = recipe("top", made, needs=(base, other))
    store.provide(other, silent())
    said = StringIO()
    provide_all([top], store, Progress(said))
    assert made == ["other", "base", "top"]
    announced = said.getvalue().splitlines()[0]
    assert "the base" in announced
    assert "the top" in announced
    assert "the other" not in announced
    said = StringIO()
    provide_all([top, base], store, Progress(said))
    assert said.getvalue() == ""
    assert len(made) == 3


def test_what_cannot_be_built_is_said_before_anything_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    made: list[str] = []
    with pytest.raises(Reason, match="mmdebstrap"):
        provide_all([recipe("first", made), recipe("image", made, packages=("mmdebstrap",))], Store(tmp_path / "store"), silent())
    assert made == []


@pytest.mark.parametrize("versions", VERSION_SETS, ids=lambda versions: versions.kubernetes)
def test_every_binary_of_a_version_set_has_a_recipe_and_a_place(tmp_path: Path, versions) -> None:
    store = Store(tmp_path)
    recipes = binary_recipes(versions, store)
    places = binaries(recipes, store)
    assert len(missing_recipes(recipes, store)) == len(recipes)
    assert len(set(places)) == len(places)
    assert all(path.is_relative_to(tmp_path / "entries") for path in places)
