"""The bill of materials of a version set as an SPDX 2.3 document, read out of what is in the store rather than out of what should be.

Programs name the modules they were compiled from themselves; the node image has the list of its Debian packages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minikube import __version__
from minikube.artifacts import sealing
from minikube.artifacts.assembly import SUITE
from minikube.artifacts.buildinfo import BuildInfo, Module, read_build_info
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.clusterparts import ImagePart, Parts, image_parts, parts_of
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.licences import PACKAGES, licence_of, module_source
from minikube.artifacts.origin import Origin
from minikube.artifacts.sources import MODULES
from minikube.artifacts.store import Recipe, Store
from minikube.output.reason import Reason

_ROOT = "SPDXRef-cluster"
_UNKNOWN = "NOASSERTION"
# What C code brings in beside the modules.
_STATIC = {"runc": "libseccomp and the C library", "pause": "the C library"}


def bill_of_materials(versions: VersionSet, source: str = MODULES, origin: Origin | None = None) -> dict[str, Any]:
    """Everything that runs in a cluster of these versions from this source, and in this program."""
    bill = _Bill(f"Cluster of Kubernetes {versions.kubernetes}", versions.kubernetes)
    store = Store()
    parts = parts_of(versions, source, origin or Origin(), store)
    for recipe in parts.recipes:
        if store.entry(recipe.name, recipe.digest) is None:
            raise Reason(
                "HOST_PATH_MISSING",
                f"{recipe.label} is not in the store, so what it is made of is not known",
                advice=f"Bring it there: minikube start --download-only --kubernetes-version={versions.kubernetes}",
            )
    for recipe in parts.programs:
        _component(bill, recipe, versions, store)
    for image in image_parts(parts, store):
        _image(bill, image, parts, store)
    _this_program(bill)
    return bill.document()


class _Bill:
    """A document that grows: packages by id, and what is in what."""

    def __init__(self, name: str, version: str) -> None:
        self._name = name
        self._packages: dict[str, dict[str, Any]] = {}
        self._relations: list[tuple[str, str, str]] = [("SPDXRef-DOCUMENT", "DESCRIBES", _ROOT)]
        self.add(_ROOT, name="minikube-cluster", version=version)

    def add(
        self,
        identifier: str,
        *,
        name: str,
        version: str,
        sha256: str = "",
        purl: str = "",
        licence: str = "",
        location: str = "",
        file: str = "",
        comment: str = "",
    ) -> str:
        package: dict[str, Any] = {
            "SPDXID": identifier,
            "name": name,
            "versionInfo": version,
            "downloadLocation": location or _UNKNOWN,
            "filesAnalyzed": False,
            "licenseConcluded": _UNKNOWN,
            "licenseDeclared": licence or _UNKNOWN,
            "copyrightText": _UNKNOWN,
            "supplier": _UNKNOWN,
        }
        if sha256:
            package["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
        if purl:
            package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
        if file:
            package["packageFileName"] = file
        if comment:
            package["comment"] = comment
        self._packages.setdefault(identifier, package)
        return identifier

    def relate(self, whole: str, how: str, part: str) -> None:
        self._relations.append((whole, how, part))

    def document(self) -> dict[str, Any]:
        relations = [
            {"spdxElementId": whole, "relationshipType": how, "relatedSpdxElement": part}
            for whole, how, part in dict.fromkeys(self._relations)
        ]
        content = {"packages": list(self._packages.values()), "relationships": relations}
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        chosen = os.environ.get("SOURCE_DATE_EPOCH", "")
        seconds = int(chosen) if chosen.isdecimal() else int(time.time())
        return {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": self._name,
            "documentNamespace": f"https://spdx.org/spdxdocs/minikube-{digest}",
            "creationInfo": {
                "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                "creators": [f"Tool: minikube-{__version__}"],
            },
            **content,
        }


def _component(bill: _Bill, recipe: Recipe, versions: VersionSet, store: Store) -> None:
    content = store.path(recipe)
    packages = content / "packages.json"
    if packages.exists():
        _node_image(bill, recipe, packages)
        return
    name, _, version = recipe.name.rpartition("-")
    for path, (kind, digest) in sorted(sealing.records(content.parent).items()):
        if kind == "file":
            identifier = bill.add(
                _id("program", recipe.name, path),
                name=path,
                version=version,
                sha256=digest,
                file=path,
                purl=f"pkg:generic/{name}@{version}?checksum=sha256:{digest}#{path}",
                comment=f"Statically linked to {_STATIC[path]} of the machine it was built on." if path in _STATIC else "",
            )
            bill.relate(_ROOT, "CONTAINS", identifier)
            if info := read_build_info(content / path):
                for module in _modules(info):
                    bill.relate(identifier, "STATIC_LINK", _module(bill, module))
                bill.relate(identifier, "STATIC_LINK", _standard_library(bill, info.go))
            elif path == "pause":
                bill.relate(identifier, "GENERATED_FROM", _module(bill, Module("k8s.io/kubernetes", versions.kubernetes)))


def _image(bill: _Bill, image: ImagePart, parts: Parts, store: Store) -> None:
    """An image by the digest of its manifest, with the program that was put into it, if it was put there here."""
    name, _, tag = image.name.rpartition(":")
    short, registry = name.rpartition("/")[2], name.partition("/")[0]
    identifier = bill.add(
        _id("container", name, tag),
        name=name,
        version=tag,
        sha256=image.digest.removeprefix("sha256:"),
        purl=f"pkg:oci/{short}@{image.digest.replace(':', '%3A')}?arch={goarch()}&repository_url={name}&tag={tag}",
        comment=f"The checksum is that of its manifest. {f'From {registry}.' if parts.pulled else 'Made here from the programs above.'}",
    )
    bill.relate(_ROOT, "CONTAINS", identifier)
    for recipe in parts.programs:
        component = "kubernetes" if image.component.startswith("kube-") else image.component
        if recipe.name.startswith(f"{component}-"):
            bill.relate(identifier, "CONTAINS", _id("program", recipe.name, component))


def _modules(info: BuildInfo) -> Iterator[Module]:
    if info.main.version.startswith("v"):
        yield info.main
    yield from info.modules


def _module(bill: _Bill, module: Module) -> str:
    # go.sum's h1 is the SHA-256 of the list of all files with their SHA-256.
    sha256 = base64.b64decode(module.sum.removeprefix("h1:")).hex() if module.sum.startswith("h1:") else ""
    escaped = re.sub(r"[A-Z]", lambda letter: f"!{letter[0].lower()}", module.path)
    return bill.add(
        _id("go", module.path, module.version),
        name=module.path,
        version=module.version,
        sha256=sha256,
        purl=f"pkg:golang/{module.path}@{module.version}",
        licence=licence_of(module_source(module.path, module.version)),
        location=f"https://proxy.golang.org/{escaped}/@v/{module.version}.zip",
        comment=f"The checksum is that of go.sum, {module.sum}" if sha256 else "",
    )


def _standard_library(bill: _Bill, go: str) -> str:
    version = go.partition(" ")[0].removeprefix("go")
    return bill.add(
        _id("go", "stdlib", version),
        name="stdlib",
        version=version,
        purl=f"pkg:golang/stdlib@{version}",
        licence="BSD-3-Clause",
        location=f"https://go.dev/dl/go{version}.src.tar.gz",
    )


def _node_image(bill: _Bill, recipe: Recipe, packages: Path) -> None:
    image = bill.add(_id("image", recipe.name, recipe.digest[:12]), name=recipe.name, version=recipe.digest[:12])
    bill.relate(_ROOT, "CONTAINS", image)
    for package in json.loads(packages.read_text()):
        identifier = bill.add(
            _id("deb", package["name"], package["version"]),
            name=package["name"],
            version=package["version"],
            sha256=package["sha256"],
            purl=f"pkg:deb/debian/{package['name']}@{package['version'].replace('+', '%2B')}?arch={goarch()}&distro={SUITE}",
            location="https://deb.debian.org/debian",
        )
        bill.relate(image, "CONTAINS", identifier)


def _this_program(bill: _Bill) -> None:
    from importlib.metadata import PackageNotFoundError, metadata

    own = bill.add(_id("python", "minikube", __version__), name="minikube", version=__version__, licence="Apache-2.0")
    bill.relate(_ROOT, "DEPENDS_ON", own)
    for name in PACKAGES:
        try:
            about = metadata(name)
        except PackageNotFoundError:
            continue
        version = about["Version"]
        declared = next((str(about[key]) for key in ("License-Expression", "License") if key in about), "")
        identifier = bill.add(
            _id("python", name, version),
            name=name,
            version=version,
            purl=f"pkg:pypi/{name.lower()}@{version}",
            licence=declared if re.fullmatch(r"[A-Za-z0-9.+-]+( (OR|AND) [A-Za-z0-9.+-]+)*", declared) else "",
            location=f"https://pypi.org/project/{name}/{version}/",
        )
        bill.relate(own, "DEPENDS_ON", identifier)


def _id(kind: str, *parts: str) -> str:
    """Letters, numbers, dots and hyphens only; a digest keeps apart what would look the same."""
    text = "-".join(parts)
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", text)
    return f"SPDXRef-{kind}-{plain}" + ("" if plain == text else f"-{hashlib.sha256(text.encode()).hexdigest()[:8]}")
