"""Edits on a kubeconfig's YAML tree: quoting, order and unknown keys of everything untouched stay as they were.

The file may be a stranger's. Values are never made of its nodes (dates, numbers, merged mappings), nothing of its is followed by recursion
that it could make deep, and what is changed is first made independent of its aliases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from minikube.output.reason import Reason

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
# kubectl's files have seven levels and no aliases. The C library recurses without a look at its stack, and at some ten thousand levels that
# ends the process. An alias may lead to a tree as deep as its anchor's.
_DEEPEST = 100
_MOST_ALIASES = 100


def parse(text: bytes, file: Path) -> yaml.MappingNode:
    """The tree in a file's bytes; a new, empty configuration for an empty file."""
    try:
        _check_shape(text)
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


def _check_shape(text: bytes) -> None:
    depth = aliases = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
        if aliases > _MOST_ALIASES:
            raise ValueError(f"it has more than {_MOST_ALIASES} aliases")


def render(root: yaml.MappingNode, file: Path) -> bytes:
    try:
        text: bytes = yaml.serialize(root, Dumper=_DUMPER, encoding="utf-8", allow_unicode=True, width=10**9)
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(file, str(error)) from error
    return text


def put_named(root: yaml.MappingNode, section: str, name: str, key: str, content: dict[str, Any]) -> bool:
    """Set `section[name=name].key` to the content; False if it already says so (the time of the last update aside)."""
    entries = _own_list(root, section)
    if entries is None:
        entries = _sequence([])
        _set(root, section, entries)
    item = _item(entries, name)
    if item is None:
        entries.value.append(_mapping([(key, _node(content)), ("name", _node(name))]))
        entries.flow_style = root.flow_style
        return True
    before = _value(item, key)
    if before is not None and _says(before, content):
        return False
    own = yaml.MappingNode(item.tag, list(item.value), flow_style=item.flow_style)
    _set(own, key, _node(content))
    entries.value[entries.value.index(item)] = own
    return True


def drop_named(root: yaml.MappingNode, section: str, name: str) -> bool:
    """Remove every `section[name=name]`; False if there was none."""
    entries = _own_list(root, section)
    if entries is None:
        return False
    kept = [item for item in entries.value if not (isinstance(item, yaml.MappingNode) and scalar(item, "name") == name)]
    changed = len(kept) != len(entries.value)
    entries.value[:] = kept
    if not kept:
        entries.flow_style = True  # an empty block sequence cannot be written
    return changed


def find_named(root: yaml.MappingNode, section: str, name: str) -> yaml.MappingNode | None:
    """The first `section[name=name]`."""
    entries = _value(root, section)
    return _item(entries, name) if isinstance(entries, yaml.SequenceNode) else None


def mapping(parent: yaml.MappingNode | None, key: str) -> yaml.MappingNode | None:
    value = _value(parent, key) if parent is not None else None
    return value if isinstance(value, yaml.MappingNode) else None


def scalar(mapping: yaml.MappingNode | None, key: str) -> str:
    value = _value(mapping, key) if mapping is not None else None
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


def _own_list(root: yaml.MappingNode, section: str) -> yaml.SequenceNode | None:
    """A section's list. An alias of it elsewhere in the file goes on meaning what it meant."""
    entries = _value(root, section)
    if not isinstance(entries, yaml.SequenceNode):
        return None
    own = yaml.SequenceNode(entries.tag, list(entries.value), flow_style=entries.flow_style)
    _set(root, section, own)
    return own


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


def _says(node: yaml.Node, content: Any) -> bool:
    """Whether a node has this content, the time of the last update aside. As deep as the content is, whatever the node is."""
    if isinstance(content, dict):
        if not isinstance(node, yaml.MappingNode) or sorted(content) != sorted(str(key.value) for key, _ in node.value):
            return False
        return all(key.value == "last-update" or _says(value, content[key.value]) for key, value in node.value)
    if isinstance(content, list):
        same = isinstance(node, yaml.SequenceNode) and len(node.value) == len(content)
        return same and all(map(_says, node.value, content))
    return isinstance(node, yaml.ScalarNode) and node.value == content


def _damaged(file: Path, why: str) -> Reason:
    return Reason(
        "HOST_KUBECONFIG_UPDATE",
        f"{file} cannot be understood, so it was left as it is: {why}",
        advice=f"Repair or move {file} away, or set KUBECONFIG to another file, then run the command again.",
    )
