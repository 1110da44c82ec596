"""Commands that ask a registry which lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.hostileregistry import Answer, digest_of, hostile_registry, index, layer
from support.program import Program

from minikube.artifacts.imagearchive import machine_architecture
from minikube.artifacts.ocidocuments import INDEX, MANIFEST


@pytest.mark.parametrize("where", ["layer", "index"])
def test_cache_add_writes_nothing_where_a_registry_wants_it(minikube: Program, tmp_path: Path, where: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    here, content = machine_architecture(), b"content"
    with hostile_registry() as registry:
        registry.otherwise = lambda _path, _headers: Answer(content, MANIFEST)
        if where == "layer":
            described = layer(content, digest=f"{outside}/x:y")
            registry.manifest(registry.image([described], [digest_of(content)], architecture=here))
        else:
            registry.manifest(index(f"e:{outside}/z", architecture=here), media_type=INDEX)
        said = minikube("cache", "add", f"{registry.host}/app:1", MINIKUBE_STORE=str(tmp_path / "store"), PATH="/usr/bin:/bin")
    assert said.returncode != 0
    assert "is not a digest" in said.stderr
    assert "Traceback" not in said.stderr
    assert list(outside.iterdir()) == []
    assert not [path for path in (minikube.home / "cache").rglob("*") if path.is_file()]
