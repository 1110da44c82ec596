"""Several OCI image layouts on disk as one archive, which `ctr images import` reads."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_layouts(path: Path, layouts: Iterable[Path]) -> None:
    """Blobs that images share are in it once."""
    manifests: list[dict[str, Any]] = []
    seen: set[str] = set()
    with tarfile.open(path, "w") as archive:
        for layout in layouts:
            manifests += json.loads((layout / "index.json").read_bytes())["manifests"]
            for blob in sorted((layout / "blobs").glob("*/*")):
                name = f"blobs/{blob.parent.name}/{blob.name}"
                if name not in seen:
                    seen.add(name)
                    archive.add(blob, name)
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
        for name, value in (("index.json", index), ("oci-layout", {"imageLayoutVersion": "1.0.0"})):
            content = json.dumps(value).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
