"""Lines that take variables of a shell back, for each shell people use."""

from __future__ import annotations

import os
from typing import NamedTuple

_KEPT = "MINIKUBE_EXISTING_"  # a variable of the user's own waits under its name with this before it


class Shell(NamedTuple):
    """What stands before a name, between name and value, and at the end of a line."""

    set: tuple[str, str, str]
    unset: tuple[str, str]


SHELLS = {
    "bash": Shell(("export ", '="', '"\n'), ("unset ", ";\n")),
    "fish": Shell(("set -gx ", ' "', '";\n'), ("set -e ", ";\n")),
    "tcsh": Shell(("setenv ", ' "', '";\n'), ("unsetenv ", ";\n")),
    "powershell": Shell(("$Env:", ' = "', '"\n'), ("Remove-Item Env:\\\\", "\n")),
    "cmd": Shell(("SET ", "=", "\n"), ("SET ", "=\n")),
    "emacs": Shell(('(setenv "', '" "', '")\n'), ('(setenv "', '" nil)\n')),
    "none": Shell(("", "=", "\n"), ("", "\n")),
}


def current_shell() -> str:
    """The user's, by $SHELL; bash where that says nothing."""
    return os.environ.get("SHELL", "").rpartition("/")[2]


def taken_back(names: list[str], shell: str) -> str:
    """The script that unsets these, or gives them the values they had before."""
    chosen = SHELLS.get(shell, SHELLS["bash"])
    restored = [name for name in names if os.environ.get(_KEPT + name)]
    dropped = [name for name in names if name not in restored] + [_KEPT + name for name in restored]
    lines = [f"{chosen.unset[0]}{name}{chosen.unset[1]}" for name in dropped]
    before, between, after = chosen.set
    lines += [f"{before}{name}{between}{os.environ[_KEPT + name]}{after}" for name in restored]
    return "".join(lines)
