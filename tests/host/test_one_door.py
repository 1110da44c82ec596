"""Code of ours reaches a node's files through host/untrustedtree.py, and through nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import minikube

PACKAGE = Path(minikube.__file__).parent
# Where the paths of a node's directories may be had: to be mounted, to be shown to people, or to be handed to the door.
MOUNTED = {("drivers/native/bundle.py", "_mounts"), ("drivers/native/usernamespace.py", "__init__")}
SHOWN = {("drivers/native/box.py", name) for name in ("_miss_data", "missing", "_led_astray")}
NAMED = {"drivers/native/layout.py", "drivers/native/node.py"}


def found(source: str, file: str) -> Iterator[str]:
    """Every place at which a module gets at the path of a node's files."""
    tree = ast.parse(source)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for node in ast.walk(function):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "state" and node.args
            if is_call and (file, function.name) not in MOUNTED | SHOWN:
                yield f"{file}: {function.name} calls .state()"
    for node in ast.walk(tree):
        joined = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_state(node.right)
        text = isinstance(node, ast.JoinedStr) and any(_is_state(part) for part in node.values)
        if (joined or text) and file not in NAMED:
            yield f"{file}:{node.lineno} makes the path itself"


def _is_state(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "state" in node.value.split("/")


def test_nothing_but_the_door_knows_where_a_nodes_files_are() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if "testing" not in path.parts]
    assert len(modules) > 200
    assert [line for path in modules for line in found(path.read_text(), str(path.relative_to(PACKAGE)))] == []


def test_the_check_sees_each_way_round_the_door() -> None:
    """Otherwise it would say nothing."""
    for line in ('self.layout.state("etc").exists()', "open(layout.state(name))", 'Path(machine) / "state"', 'f"{machine}/state/etc"'):
        assert list(found(f"def f():\n    return {line}\n", "drivers/native/box.py")), line
