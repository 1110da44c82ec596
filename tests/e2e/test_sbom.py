"""The bill of materials: valid SPDX, complete, and the same as what Go says of its own programs."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.minikube import Place

from e2e.conftest import Cluster
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.gocomponents import go_components
from minikube.profiles.paths import store

IDENTIFIER = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
LICENCE = re.compile(r"NOASSERTION|[A-Za-z0-9.+-]+( (AND|OR) [A-Za-z0-9.+-]+)*")
URL = re.compile(r"NOASSERTION|https://\S+")
REQUIRED = ("SPDXID", "name", "versionInfo", "downloadLocation", "filesAnalyzed", "licenseConcluded", "licenseDeclared", "copyrightText")


@pytest.fixture(scope="module")
def document(place: Place, node_image: Path) -> dict[str, Any]:
    answer = place.run("sbom")
    assert answer.code == 0, answer
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def of_kind(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [package for package in document["packages"] if package["SPDXID"].startswith(f"SPDXRef-{kind}-")]


def test_it_is_spdx(document: dict[str, Any]) -> None:
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT"
    assert re.fullmatch(r"https://[^#\s]+", document["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
    assert all(creator.startswith("Tool: ") for creator in document["creationInfo"]["creators"])
    for package in document["packages"]:
        assert not [field for field in REQUIRED if field not in package], package
        assert IDENTIFIER.fullmatch(package["SPDXID"])
        assert LICENCE.fullmatch(package["licenseDeclared"]), package
        assert URL.fullmatch(package["downloadLocation"]), package
        for checksum in package.get("checksums", []):
            assert checksum["algorithm"] == "SHA256"
            assert re.fullmatch(r"[0-9a-f]{64}", checksum["checksumValue"])
        for reference in package.get("externalRefs", []):
            assert reference["referenceCategory"] == "PACKAGE-MANAGER"
            assert re.fullmatch(r"pkg:[a-z]+/\S+@\S+", reference["referenceLocator"])


def test_everything_belongs_to_the_cluster(document: dict[str, Any]) -> None:
    names = [package["SPDXID"] for package in document["packages"]]
    assert len(names) == len(set(names))
    parts: dict[str, set[str]] = {}
    for relation in document["relationships"]:
        parts.setdefault(relation["spdxElementId"], set()).add(relation["relatedSpdxElement"])
    reached, pending = set(), ["SPDXRef-DOCUMENT"]
    while pending:
        here = pending.pop()
        if here not in reached:
            reached.add(here)
            pending += parts.get(here, ())
    assert reached - {"SPDXRef-DOCUMENT"} == set(names)


def test_modules_have_the_checksums_that_pin_them(document: dict[str, Any]) -> None:
    pinned = {
        tuple(line.split()) for component in go_components(DEFAULT) for line in (component.wrapper / "go.sum").read_text().splitlines()
    }
    modules = [package for package in of_kind(document, "go") if package["name"] != "stdlib"]
    assert len(modules) > 200
    for module in modules:
        h1 = "h1:" + base64.b64encode(bytes.fromhex(module["checksums"][0]["checksumValue"])).decode()
        assert (module["name"], module["versionInfo"], h1) in pinned
    unknown = [module["name"] for module in modules if module["licenseDeclared"] == "NOASSERTION"]
    assert not unknown or not (store() / "go/mod").exists()


def test_debian_packages_are_those_of_the_node_image(document: dict[str, Any], node_image: Path) -> None:
    listed = {(package["name"], package["versionInfo"], package["checksums"][0]["checksumValue"]) for package in of_kind(document, "deb")}
    expected = {(item["name"], item["version"], item["sha256"]) for item in json.loads((node_image / "packages.json").read_text())}
    assert listed == expected


def test_images_have_the_digests_that_the_cluster_has(document: dict[str, Any], cluster: Cluster) -> None:
    listed = {f"{package['name']}:{package['versionInfo']}": package for package in of_kind(document, "container")}
    stored = cluster.ssh("ctr -n k8s.io images ls").splitlines()
    digests = {words[0]: words[2] for words in (line.split() for line in stored) if len(words) > 3}
    pods = cluster.get("pods", "-n", "kube-system")["items"]
    used = {container["image"] for pod in pods for container in pod["spec"]["containers"]}
    assert used < set(listed)
    assert {name: digests[name] for name in listed} == {
        name: f"sha256:{one['checksums'][0]['checksumValue']}" for name, one in listed.items()
    }
    parts = {relation["spdxElementId"]: relation["relatedSpdxElement"] for relation in document["relationships"]}
    assert all(parts[package["SPDXID"]].startswith("SPDXRef-program-") for package in listed.values())


def test_go_says_the_same(document: dict[str, Any]) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go here to ask")
    program = next(package for package in of_kind(document, "program") if package["name"] == "runc")
    found = max(store().glob("entries/runc-*/content/runc"), key=lambda path: path.stat().st_mtime)
    said = subprocess.run([go, "version", "-m", str(found)], capture_output=True, text=True, check=True).stdout
    wanted = {tuple(line.split("\t")[2:4]) for line in said.splitlines() if line.startswith(("\tmod", "\tdep"))}
    wanted.add(("stdlib", said.split()[1].removeprefix("go")))
    by_id = {package["SPDXID"]: (package["name"], package["versionInfo"]) for package in document["packages"]}
    linked = {
        by_id[relation["relatedSpdxElement"]]
        for relation in document["relationships"]
        if relation["spdxElementId"] == program["SPDXID"] and relation["relationshipType"] == "STATIC_LINK"
    }
    assert linked == wanted


def test_components_that_are_not_here(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.environment["MINIKUBE_STORE"] = str(tmp_path / "store")
    answer = place.run("sbom")
    assert answer.code == 35
    assert "--download-only" in answer.stderr
