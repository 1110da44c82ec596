"""The modules source: components compiled from Go modules that a wrapper's go.mod and go.sum pin to the byte."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from minikube.artifacts.followed import follow
from minikube.artifacts.gobuilderrors import why_go_failed
from minikube.artifacts.gocomponents import COMPILE_FLAGS, GoComponent, Program
from minikube.artifacts.gotoolchain import find_go, go_environment
from minikube.artifacts.store import Recipe, Store
from minikube.output.progress import Progress, Task

# Packages whose dependencies are nearly all of the standard library that Kubernetes uses (all of it would be half as much again).
_STANDARD_LIBRARY = (
    *("archive/tar", "archive/zip", "compress/zlib", "crypto/pbkdf2", "database/sql", "encoding/csv", "encoding/xml", "expvar"),
    *("go/doc", "html/template", "log/slog", "net/http/httputil", "net/http/pprof", "os/exec", "os/signal", "time/tzdata"),
)


class _Workplace(NamedTuple):
    """One component's copy of its wrapper, and what `go` needs to work on it."""

    label: str
    go: str
    environment: dict[str, str]
    source: Path
    log: Path
    modules: int
    """How many the wrapper names."""

    def run(self, *arguments: str, on_line: Callable[[str], None]) -> None:
        code, said = follow([self.go, *arguments], env=self.environment, cwd=self.source, log=self.log, on_line=on_line)
        if code:
            raise why_go_failed(self.label, said, self.log)


def go_recipe(component: GoComponent, store: Store) -> Recipe:
    """How the store makes a Go component: a directory with its binaries."""

    def build(target: Path, progress: Progress) -> None:
        build_component(component, store, target, log=store.log(recipe.entry_name), progress=progress)

    recipe = Recipe(
        name=recipe_name(component),
        identity=component.identity(),
        build=build,
        host_packages=("gcc", "libc6-dev", "libseccomp-dev", "pkg-config") if component.cgo else (),
        estimate_seconds=component.expected_seconds,
        what=component.label,
    )
    return recipe


def recipe_name(component: GoComponent) -> str:
    return f"{component.name}-{component.version}"


def build_component(component: GoComponent, store: Store, target: Path, *, log: Path, progress: Progress) -> None:
    """Compile the component's programs into `target`. What was compiled or downloaded before an interruption is not done again."""
    tried_before = log.exists()
    log.write_text("")
    place = _workplace(component, store, target.parent / "source", log, progress)
    with progress.task(component.label, _modules_named(component), "modules", expected_seconds=component.expected_seconds) as task:
        _download(place, task)
        stale = _packages_to_compile(component, place, nothing_yet=component.name == "kubernetes" and not tried_before)
        task.phase(len(stale), "packages", expected_seconds=component.expected_seconds)
        for tags, programs in groupby(component.programs, key=lambda program: program.tags):
            _compile(component, tags, tuple(programs), place, target, stale=stale, task=task)
    shutil.rmtree(place.source)


def download_modules(components: Sequence[GoComponent], store: Store, progress: Progress) -> None:
    """Fetch components' modules ahead of their turn to compile."""
    import tempfile

    log = store.log("modules")
    with (
        progress.task("Go modules", sum(map(_modules_named, components)), "modules") as task,
        tempfile.TemporaryDirectory(prefix="minikube-modules.") as scratch,
    ):
        for component in components:
            task.note(component.label)
            _download(_workplace(component, store, Path(scratch) / component.name, log, progress), task)


def compile_standard_library(component: GoComponent, store: Store, progress: Progress) -> None:
    """Compile what needs no module while modules are still on their way: every component shares it."""
    import tempfile

    with (
        progress.task("Go standard library", unit="packages", expected_seconds=40) as task,
        tempfile.TemporaryDirectory(prefix="minikube-modules.") as scratch,
    ):
        place = _workplace(component, store, Path(scratch) / component.name, store.log("standard-library"), progress)
        place.run("build", "-v", _parallel(beside=False), *COMPILE_FLAGS, *_STANDARD_LIBRARY, on_line=lambda _line: task.advance())


def _workplace(component: GoComponent, store: Store, source: Path, log: Path, progress: Progress) -> _Workplace:
    source.mkdir()
    # The wrapper is the package's own data and may be read-only; Go wants to lock go.mod.
    for name, content in component.sources().items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(content)
    environment = {**go_environment(store), "CGO_ENABLED": "1" if component.cgo else "0"}
    return _Workplace(component.label, find_go(store, progress), environment, source, log, _modules_named(component))


def _modules_named(component: GoComponent) -> int:
    needs = r"^(?:require)?\s+\S+ v\d\S*(?: // indirect)?$"
    return len(re.findall(needs, (component.wrapper / "go.mod").read_text(), re.MULTILINE))


def _download(place: _Workplace, task: Task) -> None:
    before = task.done_so_far

    # -json would count them all at the very end.
    def count(line: str) -> None:
        if ".zip: 200" in line:
            task.advance()

    place.run("mod", "download", "-x", on_line=count)
    task.set(before + place.modules)


def _packages_to_compile(component: GoComponent, place: _Workplace, *, nothing_yet: bool) -> set[str]:
    """The packages that are not in the build cache. Of the first and largest component none is: no need to spend seconds on asking."""
    stale: set[str] = set()
    # Go tells apart what is not compiled yet from what only has not been linked or installed.
    shape = '{{if .Stale}}{{if ne .StaleReason "not installed but available in build cache"}}{{.ImportPath}}{{end}}{{end}}'
    if nothing_yet:
        shape = "{{if not .Standard}}{{.ImportPath}}{{end}}"
    for tags, programs in groupby(component.programs, key=lambda program: program.tags):
        packages = [program.package for program in programs]
        place.run("list", "-deps", f"-f={shape}", *COMPILE_FLAGS, *_tags(tags), *packages, on_line=stale.add)
    stale.discard("")
    return stale


def _compile(
    component: GoComponent,
    tags: tuple[str, ...],
    programs: tuple[Program, ...],
    place: _Workplace,
    target: Path,
    *,
    stale: set[str],
    task: Task,
) -> None:
    packages = [program.package for program in programs]

    def count(line: str) -> None:
        package = line.strip()
        if package in stale:
            stale.discard(package)
            task.advance()
        if package in packages:
            task.note("linking")

    link = f"-ldflags=-s -w {' '.join(component.link_flags)}".strip()
    place.run(
        "build",
        "-v",
        _parallel(beside=component.name != "kubernetes"),
        *COMPILE_FLAGS,
        *_tags(tags),
        link,
        "-o",
        f"{target}{os.sep}",
        *packages,
        on_line=count,
    )
    for program in programs:
        (target / program.default_binary).rename(target / program.binary)


def _parallel(*, beside: bool) -> str:
    """How many compilers at once. Two builds run beside each other; more compilers than cores only cost cache."""
    cores = os.cpu_count() or 2
    return f"-p={max(cores // 2, 1) if beside else cores}"


def _tags(tags: tuple[str, ...]) -> list[str]:
    return [f"-tags={','.join(tags)}"] if tags else []
