"""Features of the kernel that may be built in, in a module, or nowhere."""

from __future__ import annotations

from pathlib import Path

HERE, LOADABLE, ABSENT, UNKNOWN = "here", "loadable", "absent", "unknown"


def availability(root: Path, release: str, module: str) -> str:
    """Whether the kernel has it: here (built in or loaded), loadable, absent, or unknown where nobody keeps a list of modules."""
    if (root / "sys/module" / module).exists():
        return HERE
    lists = root / "lib/modules" / release
    builtin, loadable = _read(lists / "modules.builtin"), _read(lists / "modules.dep")
    # Files are named with dashes or underscores, and may be compressed: nf_tables.ko, xt-mark.ko.xz.
    if _names(builtin, module):
        return HERE
    if _names(loadable, module):
        return LOADABLE
    # A container or a small VM without the files of its kernel: built-in features without parameters appear nowhere.
    return ABSENT if builtin and loadable else UNKNOWN


def _names(listed: str, module: str) -> bool:
    return any(f"/{spelling}.ko" in listed for spelling in (module, module.replace("_", "-")))


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
