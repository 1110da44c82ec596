"""The programs in tools/, loaded as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).parents[2] / "tools"


def load_tool(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"{name}_tool", TOOLS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[f"{name}_tool"] = module
    specification.loader.exec_module(module)
    return module
