"""The pins: every version set is complete, and users may write versions as they are used to."""

import re

import pytest

from minikube.artifacts.catalogue import DEFAULT, VERSION_SETS, resolve_version, version_set
from minikube.artifacts.gocomponents import GO_AT_LEAST, OWN, Program, go_components
from minikube.output.reason import Reason

COMPONENTS = [component for versions in VERSION_SETS for component in go_components(versions)]


@pytest.mark.parametrize("text", ["", "stable", "latest", "newest", "Stable", "v1.37.1", "1.37.1", "v1.37", "1.37"])
def test_ways_to_say_the_default(text: str) -> None:
    assert resolve_version(text) == "v1.37.1"


@pytest.mark.parametrize("text", ["v1.36.4", "1.36.4", "1.36"])
def test_an_older_version_brings_its_own_companions(text: str) -> None:
    versions = version_set(text)
    assert (versions.kubernetes, versions.etcd, versions.coredns) == ("v1.36.4", "v3.6.8", "v1.14.2")


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("v1.38.0", "K8S_NEW_UNSUPPORTED"),
        ("2.0", "K8S_NEW_UNSUPPORTED"),
        ("v1.20.0", "K8S_OLD_UNSUPPORTED"),
        ("v1.27.16", "K8S_OLD_UNSUPPORTED"),
        ("banana", "MK_USAGE"),
    ],
)
def test_versions_there_are_none_of(text: str, id: str) -> None:
    with pytest.raises(Reason) as caught:
        resolve_version(text)
    assert caught.value.id == id
    assert text in caught.value.message
    assert all(versions.kubernetes in caught.value.advice for versions in VERSION_SETS)


@pytest.mark.parametrize(
    ("text", "version"),
    [("v1.36.1", "v1.36.1"), ("1.28.0", "v1.28.0"), ("v1.37.0-rc.1", "v1.37.0-rc.1"), ("1.35", "v1.35")],
)
def test_versions_without_pins_are_for_the_source_to_know(text: str, version: str) -> None:
    assert resolve_version(text) == version


@pytest.mark.parametrize("text", ["v1.38.0", "1.27.3"])
def test_force_tries_what_nobody_vouches_for(text: str) -> None:
    assert resolve_version(text, force=True) == f"v{text.removeprefix('v')}"


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.label)
def test_every_wrapper_is_there_and_pinned(component) -> None:
    go_mod = (component.wrapper / "go.mod").read_text()
    assert (component.wrapper / "go.sum").read_text().strip()
    language = re.search(r"^go (\d+)\.(\d+)\.(\d+)$", go_mod, re.MULTILINE)
    assert language is not None
    assert tuple(map(int, language.groups())) <= GO_AT_LEAST
    for program in component.programs:
        if program.package.startswith(f"{OWN}/"):
            assert (component.wrapper / "main.go").exists()
            assert f"module {program.package}\n" in go_mod
        else:
            assert any(program.package.startswith(module) for module in re.findall(r"^(?:require)?\s*(\S+) v\d", go_mod, re.MULTILINE))


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.label)
def test_every_module_that_is_compiled_in_has_a_checksum(component) -> None:
    go_mod, sums = (component.wrapper / "go.mod").read_text(), (component.wrapper / "go.sum").read_text().splitlines()
    pinned = {tuple(line.split()[:2]) for line in sums if re.fullmatch(r"\S+ \S+ h1:[A-Za-z0-9+/]{43}=", line)}
    assert len(pinned) == len(sums)
    replaced = dict(re.findall(r"^(?:replace)?\s*(\S+)(?: v\S+)? => (\S+ \S+)$", go_mod, re.MULTILINE))
    required = re.findall(r"^(?:require\s|\t)(\S+) (v\S+)(?: // indirect)?$", go_mod, re.MULTILINE)
    assert required
    for module, version in required:
        module, version = replaced.get(module, f"{module} {version}").split()
        assert {(module, version), (module, f"{version}/go.mod")} <= pinned


@pytest.mark.parametrize("component", [c for c in COMPONENTS if c.name not in ("storage-provisioner",)], ids=lambda c: c.label)
def test_every_wrapper_builds_the_version_it_says(component) -> None:
    assert component.version in (component.wrapper / "go.mod").read_text()


def test_the_same_pins_have_the_same_identity_and_others_another() -> None:
    once, again = ({c.label: c.identity() for c in go_components(DEFAULT)} for _ in range(2))
    assert once == again
    assert len(set(once.values())) == len(once)
    stamped_otherwise = go_components(DEFAULT)[0]._replace(link_flags=())
    assert stamped_otherwise.identity() != once[stamped_otherwise.label]


@pytest.mark.parametrize(
    ("package", "binary"), [("go.etcd.io/etcd/server/v3", "server"), ("github.com/opencontainers/runc", "runc"), ("a/v2x", "v2x")]
)
def test_names_go_gives_to_binaries(package: str, binary: str) -> None:
    assert Program(package, "x").default_binary == binary
