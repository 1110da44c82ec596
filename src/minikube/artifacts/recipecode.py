"""The code that makes an artifact is part of what it is made from."""

from __future__ import annotations

import hashlib
from pathlib import Path


def code_of(*modules: str) -> str:
    """A short digest of the source of modules beside this one, which need not be imported for that."""
    whole = hashlib.sha256()
    for module in modules:
        whole.update(Path(__file__).with_name(f"{module}.py").read_bytes())
    return whole.hexdigest()[:16]
