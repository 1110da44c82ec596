"""docker-machine driver plugins for tests, compiled into the store once: real ones, and one that misbehaves when told to."""

from __future__ import annotations

from pathlib import Path

from minikube.artifacts.gocomponents import GoComponent, Program
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.store import Store
from minikube.output.progress import silent

_SOURCES = Path(__file__).parent / "plugins"
_VERSIONS = {"libmachine": "v0.16.2", "vmware": "v0.1.5", "misbehaving": "v1"}


def provide_plugin(source: str, directory: Path, *names: str) -> Path:
    """A plugin of one of these sources, installed in a directory under a driver's names; gives the path of the first."""
    program = Program(f"minikube.test/{source}", source)
    component = GoComponent(f"test-plugin-{source}", _VERSIONS[source], (program,), wrappers=_SOURCES)
    store = Store()
    content = store.provide(go_recipe(component, store), silent())
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / f"docker-machine-driver-{name}").symlink_to(content / source)
    return directory / f"docker-machine-driver-{names[0]}"
