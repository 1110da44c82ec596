"""Edits on a kubeconfig's YAML tree: quoting, order and unknown keys of everything untouched stay as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from minikube.output.reason import Reason

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"


def parse(text: bytes, file: Path) -> yaml.MappingNode:
    """The tree in a file's bytes; a new, empty configuration for an empty file."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(file, str(error)) from error
    if root is None or root.tag == _NULL:
        return _empty()
    if not isinstance(root, yaml.MappingNode):
        raise _damaged(file, "it does not hold a kubeconfig")
    for section in ("clusters", "contexts", "users"):
        value = _value(root, section)
        if value is not None and value.tag != _NULL and not isinstance(value, yaml.SequenceNode):
            raise _damaged(file, f'"{section}" is not a list')
    return root


def render(root: yaml.MappingNode) -> bytes:
    text: bytes = yaml.serialize(root, Dumper=_DUMPER, encoding="utf-8", allow_unicode=True, width=10**9)
    return text


def put_named(root: yaml.MappingNode, section: str, name: str, key: str, content: dict[str, Any]) -> bool:
    """Set `section[name=name].key` to the content; False if it already says so (the time of the last update aside)."""
    entries = _value(root, section)
    if not isinstance(entries, yaml.SequenceNode):
        entries = _sequence([])
        _set(root, section, entries)
    item = _item(entries, name)
    wanted = _node(content)
    if item is None:
        entries.value.append(_mapping([(key, wanted), ("name", _node(name))]))
        entries.flow_style = root.flow_style
        return True
    before = _value(item, key)
    if before is not None and _timeless(_plain(before)) == _timeless(_plain(wanted)):
        return False
    _set(item, key, wanted)
    return True


def drop_named(root: yaml.MappingNode, section: str, name: str) -> bool:
    """Remove every `section[name=name]`; False if there was none."""
    entries = _value(root, section)
    if not isinstance(entries, yaml.SequenceNode):
        return False
    kept = [item for item in entries.value if not (isinstance(item, yaml.MappingNode) and scalar(item, "name") == name)]
    changed = len(kept) != len(entries.value)
    entries.value[:] = kept
    if not kept:
        entries.flow_style = True  # an empty block sequence cannot be written
    return changed


def scalar(mapping: yaml.MappingNode, key: str) -> str:
    value = _value(mapping, key)
    return str(value.value) if isinstance(value, yaml.ScalarNode) and value.tag != _NULL else ""


def put_scalar(mapping: yaml.MappingNode, key: str, text: str) -> bool:
    if scalar(mapping, key) == text and _value(mapping, key) is not None:
        return False
    _set(mapping, key, _node(text))
    return True


def _empty() -> yaml.MappingNode:
    return _mapping(
        [
            ("apiVersion", _node("v1")),
            ("clusters", _sequence([])),
            ("contexts", _sequence([])),
            ("current-context", _node("")),
            ("kind", _node("Config")),
            ("preferences", _mapping([])),
            ("users", _sequence([])),
        ]
    )


def _value(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in mapping.value if name.value == key), None)


def _set(mapping: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    for index, (name, _) in enumerate(mapping.value):
        if name.value == key:
            mapping.value[index] = (name, value)
            return
    mapping.value.append((_node(key), value))


def _item(entries: yaml.SequenceNode, name: str) -> yaml.MappingNode | None:
    for item in entries.value:
        if isinstance(item, yaml.MappingNode) and scalar(item, "name") == name:
            return item
    return None


def _node(value: Any) -> yaml.Node:
    if isinstance(value, dict):
        return _mapping([(key, _node(inner)) for key, inner in value.items()])
    if isinstance(value, list):
        return _sequence([_node(inner) for inner in value])
    # Plain where a reader would still see a string, quoted where it would not ("", "on", "123").
    plain = bool(value) and _resolves_to_string(value)
    return yaml.ScalarNode(_STRING, value, style=None if plain else '"')


def _resolves_to_string(text: str) -> bool:
    return bool(_LOADER("").resolve(yaml.ScalarNode, text, (True, False)) == _STRING)


def _mapping(pairs: list[tuple[str, yaml.Node]]) -> yaml.MappingNode:
    keys = [(yaml.ScalarNode(_STRING, key), value) for key, value in pairs]
    return yaml.MappingNode("tag:yaml.org,2002:map", keys, flow_style=not keys)


def _sequence(items: list[yaml.Node]) -> yaml.SequenceNode:
    return yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=not items)


def _plain(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(value) for value in node.value]
    return node.value


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(inner) for key, inner in value.items() if key != "last-update"}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def _damaged(file: Path, why: str) -> Reason:
    return Reason(
        "HOST_KUBECONFIG_UPDATE",
        f"{file} cannot be understood, so it was left as it is: {why}",
        advice=f"Repair or move {file} away, or set KUBECONFIG to another file, then run the command again.",
    )
