"""Raise a wrapper module's dependencies to the versions another wrapper already compiles.

    python tools/align_wrapper.py etcd-v3.7.0 kubernetes-v1.37.1

Packages of the same version are compiled once for both, which is most of the time of a cold build. Versions are only ever
raised (Go's minimal version selection), so what upstream asks for is still the floor.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

WRAPPERS = Path(__file__).parent.parent / "src/minikube/artifacts/wrappers"


def modules(wrapper: str) -> dict[str, str]:
    """Every module of the wrapper's build list that its go.mod names, with the version in force."""
    described = json.loads(subprocess.check_output(["go", "mod", "edit", "-json"], cwd=WRAPPERS / wrapper))
    versions = {need["Path"]: need["Version"] for need in described["Require"]}
    for replacement in described.get("Replace") or []:
        versions[replacement["Old"]["Path"]] = replacement["New"]["Version"]
    return versions


def sort_key(version: str) -> tuple[list[int], str]:
    release, _, rest = version.lstrip("v").partition("-")
    return [int(part) for part in release.split("+")[0].split(".")], rest or "~"


def main() -> None:
    wrapper, model = sys.argv[1:]
    have, wanted = modules(wrapper), modules(model)
    raised = [
        f"-require={path}@{wanted[path]}" for path, version in have.items() if path in wanted and sort_key(wanted[path]) > sort_key(version)
    ]
    subprocess.check_call(["go", "mod", "edit", *raised], cwd=WRAPPERS / wrapper)
    shared = WRAPPERS / wrapper / "memory"  # which every build adds by itself
    shared.mkdir()
    try:
        shutil.copy(WRAPPERS / "memory.go", shared)
        subprocess.check_call(["go", "mod", "tidy"], cwd=WRAPPERS / wrapper)
    finally:
        shutil.rmtree(shared)
    print(f"{wrapper}: raised {len(raised)} modules to those of {model}")


if __name__ == "__main__":
    main()
