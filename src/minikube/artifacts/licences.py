"""The licences of everything that runs in a cluster and in this program, gathered from the very sources they were built from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts import catalogue
from minikube.artifacts.gocomponents import go_components
from minikube.output.reason import Reason
from minikube.profiles.paths import store

_NAMES = ("license", "licence", "copying", "notice", "copyright", "patents")
PACKAGES = ("cryptography", "msgspec", "PyYAML", "urllib3")
# By words that no other licence has.
_KNOWN = {
    "Apache-2.0": ("apache license", "version 2.0, january 2004"),
    "BSD-2-Clause": ("redistribution and use in source and binary forms", "redistributions in binary form must"),
    "BSD-3-Clause": ("redistribution and use in source and binary forms", "endorse or promote products derived from"),
    "ISC": ("permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"),
    "MIT": ("permission is hereby granted, free of charge, to any person obtaining a copy",),
    "MPL-2.0": ("mozilla public license", "version 2.0"),
    "Unlicense": ("this is free and unencumbered software released into the public domain",),
}
_OWN = Path(__file__).parents[3] / "LICENSE"
_INDEX = """\
What is here, and what is not:

- minikube/           this program
- python/             the Python packages it uses
- everything else     Go modules in the programs of Kubernetes {kubernetes} and what runs beside it, by their import path

The node image also holds Debian packages. Their licences are in /usr/share/doc/PACKAGE/copyright of each package, and at
https://metadata.ftp-master.debian.org/changelogs/
"""


class Gathered(NamedTuple):
    """How many licences were written."""

    modules: int
    packages: int


def gather(directory: Path) -> Gathered:
    """Write them below `directory`, in one directory for each module."""
    versions = catalogue.DEFAULT
    modules = [(name, source) for name, source in _modules(versions) if source.is_dir()]
    if not modules:
        raise Reason(
            "INET_LICENSES",
            "The sources of the components, which hold their licences, are not in the store",
            advice="`minikube start --download-only` brings them in.",
        )
    directory.mkdir(parents=True, exist_ok=True)
    if _OWN.exists():
        _copy([_OWN], directory / "minikube")
    packages = sum(_package(name, directory / "python" / name) for name in PACKAGES)
    written = sum(_copy(_licences(source), directory / name) for name, source in modules)
    (directory / "README").write_text(_INDEX.format(kubernetes=versions.kubernetes), encoding="utf-8")
    return Gathered(written, packages)


def _modules(versions: catalogue.VersionSet) -> Iterator[tuple[str, Path]]:
    """Module and version, and where Go keeps its source: only what is compiled in is there."""
    wanted = {entry for component in go_components(versions) for entry in required(component.wrapper / "go.mod")}
    for module, version in sorted(wanted):
        yield f"{module}@{version}", module_source(module, version)


def module_source(module: str, version: str) -> Path:
    """Where Go keeps the source of a module, if it was compiled on this machine."""
    escaped = "".join(f"!{letter.lower()}" if letter.isupper() else letter for letter in f"{module}@{version}")
    return store() / "go" / "mod" / escaped


def licence_of(source: Path) -> str:
    """The SPDX name of what the licence files of a directory say; empty if there are none, or none that is known."""
    if not source.is_dir():
        return ""
    texts = [" ".join(path.read_text(errors="replace").lower().split()) for path in _licences(source)]
    found = {name for text in texts for name, words in _KNOWN.items() if all(word in text for word in words)}
    if "BSD-3-Clause" in found:
        found.discard("BSD-2-Clause")
    return " AND ".join(sorted(found))


def required(file: Path) -> Iterator[tuple[str, str]]:
    """Modules with versions that a go.mod asks for, what it replaces included."""
    for line in file.read_text(encoding="utf-8").splitlines():
        words = line.partition("//")[0].replace("=>", " => ").split()
        if words and words[0] in ("require", "replace"):
            words = words[1:]
        if "=>" in words:
            words = words[words.index("=>") + 1 :]
        if len(words) == 2 and words[1].startswith("v") and "." in words[0]:
            yield words[0], words[1]


def _licences(source: Path) -> list[Path]:
    return sorted(path for path in source.iterdir() if path.is_file() and path.name.lower().startswith(_NAMES))


def _package(name: str, target: Path) -> int:
    from importlib.metadata import PackageNotFoundError, files

    try:
        found = [Path(str(path.locate())) for path in files(name) or [] if path.name.lower().startswith(_NAMES)]
    except PackageNotFoundError:
        return 0
    return _copy([path for path in found if path.suffix != ".py"], target)


def _copy(licences: list[Path], target: Path) -> int:
    if not licences:
        return 0
    target.mkdir(parents=True, exist_ok=True)
    for licence in licences:
        shutil.copyfile(licence, target / licence.name)
    return 1
