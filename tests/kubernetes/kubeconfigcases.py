"""Hostile kubeconfigs, and what must be true of each: a reason or success, never a crash, and nothing of theirs lost.

    python -m kubeconfigcases DIRECTORY SEED COUNT     COUNT random files, after all that are known to be nasty

It names each case before it tries it, so that whoever started it knows which one has ended it.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from minikube.kubernetes import kubeconfig, kubeconfigglance
from minikube.output.reason import Reason

SERVER, PROFILE = "https://10.5.0.2:8443", "dev"
SECTIONS = ("clusters", "contexts", "users")
KEYS = (*SECTIONS, "current-context", "name", "cluster", "context", "user", "server", "preferences", "<<", "", "1", "=", "ключ", "a b")
SCALARS = (
    *(
        "dev",
        "theirs",
        "",
        "~",
        "null",
        "on",
        "yes",
        "0x1F",
        "1e999",
        ".inf",
        "2026-99-99",
        "2026-01-01T00:00:00Z",
        "1:1:1:1",
        "- a",
        "a: b",
    ),
    *(
        "&x",
        "*x",
        "#",
        "é漢😀",
        "\x85",
        "\u2028",
        "\ufeff",
        " lead",
        "trail ",
        "two\nlines\n",
        "\ttab",
        "x" * 5000,
        "9" * 5000,
        "%YAML",
        "---",
    ),
)
TAGS = ("str", "int", "bool", "float", "timestamp", "binary", "set", "omap", "python/object/apply:os.system")
SECONDS = 60  # for one case, on a busy machine


def laughs(levels: int = 60) -> str:
    """Each has the one before nine times."""
    lines = ["a0: &a0 [ha]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * (1 if n > 9 else 9))}]" for n in range(1, levels)]
    return "\n".join(lines)


NASTY: dict[str, str | bytes] = {
    "laughs in our entry": f"{laughs()}\nclusters: [{{name: dev, cluster: *a59}}]\ncontexts: [{{name: dev, context: *a59}}]\n",
    "laughs merged": "\n".join(["a0: &a0 {k: v}"] + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 11)]),
    "an entry in itself": "clusters: &c [{name: dev, cluster: *c}]\ncontexts: *c\nusers: *c\n",
    "a file in itself": "&root\nclusters: []\nself: *root\n",
    "sections that are one": "clusters: &all [{name: theirs, cluster: {}}]\ncontexts: *all\nusers: *all\nnote: *all\n",
    "our entry elsewhere": "note: &o {name: dev, cluster: {server: x}}\nclusters: [*o, *o]\n",
    "brackets": "[" * 300_000,
    "dashes": "- " * 300_000 + "x",
    "questions": "? " * 300_000 + "x",
    "braces": "{a: " * 300_000,
    "indented": "".join(f"{' ' * n}a:\n" for n in range(2000)),
    "more aliases than anybody has": "a: &a x\nb: [" + "*a, " * 200_000 + "]\n",
    "a chain of aliases in our entry": "clusters:\n- name: dev\n  cluster:\n    a0: &a0 [x]\n"
    + "".join(f"    a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 50_000))
    + "last: *a49999\n",
    "a number": f"clusters: [{{name: {'9' * 1_000_000}}}]\n",
    "a number by sixty": f"current-context: {':'.join(['1'] * 500_000)}\n",
    "colons": "a:" * 500_000,
    "keys": "".join(f"k{n}: v\n" for n in range(10_000)),
    "quotes": '"' + "\\\n" * 500_000,
    "tags": "!!python/object/apply:os.system ['true']\n",
    "tag in our entry": "clusters: [!!python/object/apply:os.system {name: dev, cluster: {}}]\n",
    "too large": b"#" * (5 << 20),
    "no text": b"\xff\xfe\xff\xff\x00",
    "UTF-16": "clusters: []\n".encode("utf-16"),
    "lone surrogate": '"\\ud800": x\n',
    "names that are lists": "clusters: [{name: [dev], cluster: {}}, {? [a] : b}, 7, null, [], dev]\ncontexts: [dev]\nusers: [{user: x}]\n",
    "sections of other types": "clusters: {name: dev}\ncontexts: dev\nusers: 7\n",
    "sections twice": "clusters: [{name: one}]\nclusters: [{name: two}]\n",
    "two documents": "clusters: []\n---\nclusters: []\n",
    "a date": "current-context: 2026-99-99\nclusters: [{name: dev, cluster: {server: 2026-99-99}}]\n",
}


def random_node(rng: random.Random, depth: int, known: list[yaml.Node]) -> yaml.Node:
    """Nodes that were made before come again, as aliases."""
    if known and rng.random() < 0.1:
        return rng.choice(known)
    kind, flow = rng.random(), rng.choice((True, False))
    node: yaml.Node
    if depth > 4 or kind < 0.4:
        tag = rng.choice(TAGS) if rng.random() < 0.1 else "str"
        node = yaml.ScalarNode(f"tag:yaml.org,2002:{tag}", rng.choice(SCALARS), style=rng.choice((None, '"', "'", "|", ">")))
    elif kind < 0.7:
        items = [random_node(rng, depth + 1, known) for _ in range(rng.randrange(4))]
        node = yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=flow or not items)
    else:
        keys = rng.sample(KEYS, rng.randrange(5))
        pairs = [(yaml.ScalarNode("tag:yaml.org,2002:str", key), random_node(rng, depth + 1, known)) for key in keys]
        node = yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=flow or not pairs)
    known.append(node)
    return node


def random_file(rng: random.Random) -> bytes:
    known: list[yaml.Node] = []
    pairs = [
        (yaml.ScalarNode("tag:yaml.org,2002:str", key), entries(rng, known) if rng.random() < 0.7 else random_node(rng, 1, known))
        for key in (*rng.sample(SECTIONS, rng.randrange(4)), *rng.sample(("current-context", "note", "kind"), 2))
    ]
    root = yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=not pairs)
    return yaml.serialize(root, Dumper=yaml.SafeDumper, encoding="utf-8", allow_unicode=rng.choice((True, False)))


def entries(rng: random.Random, known: list[yaml.Node]) -> yaml.Node:
    items = [random_node(rng, 2, known) for _ in range(rng.randrange(4))]
    for item in items:
        if isinstance(item, yaml.MappingNode) and rng.random() < 0.7:
            item.value.insert(0, (yaml.ScalarNode("tag:yaml.org,2002:str", "name"), yaml.ScalarNode("tag:yaml.org,2002:str", "dev")))
    node = yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=not items)
    known.append(node)
    return node


def mutated(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text or b"\n")
    for _ in range(rng.randrange(1, 6)):
        place, length = rng.randrange(len(data) + 1), rng.randrange(1, 20)
        piece = data[place : place + length]
        data[place : place + rng.choice((0, length))] = rng.choice(
            (piece * 3, b"", rng.randbytes(3), rng.choice((b"&a ", b"*a", b"[", b"\n", b": ", b"!")))
        )
        data = data or bytearray(b"\n")
    return bytes(data)


def cases(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    for name, text in NASTY.items():
        yield name, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    rng = random.Random(seed)
    for number in range(count):
        text = random_file(rng)
        yield f"random {number}", text
        yield f"mutated {number}", mutated(rng, text)


def check(text: bytes, file: Path) -> None:
    """Every act on the file ends with success or a reason; what fails changes nothing, what succeeds loses nothing."""
    paths = [Path(f"/h/{name}") for name in ("ca.crt", "client.crt", "client.key")]
    entry = kubeconfig.Entry(PROFILE, SERVER, *paths, "v1")
    acts: tuple[Callable[[], Any], ...] = (
        *(lambda: kubeconfig.merge(entry), lambda: kubeconfig.merge(entry), lambda: kubeconfig.set_current_context("theirs")),
        *(lambda: kubeconfig.remove(PROFILE, then="theirs"), lambda: kubeconfig.state(PROFILE, SERVER)),
        *(kubeconfig.current_context, kubeconfigglance.current_context, lambda: kubeconfigglance.endpoint(PROFILE)),
    )
    file.write_bytes(text)
    for number, act in enumerate(acts):
        before = file.read_bytes()
        try:
            changed = act()
        except Reason as reason:
            assert number < 4, f"act {number} only looks: {reason}"
            assert file.read_bytes() == before
            continue
        after = file.read_bytes()
        if number == 0:
            assert kubeconfig.endpoint(PROFILE) == SERVER
            assert kubeconfig.current_context() == PROFILE
        elif number == 1:
            assert not changed
        if after != before:
            old, new = (yaml.compose(version, Loader=yaml.CSafeLoader) for version in (before, after))
            # Where there was nothing, all is new.
            assert not isinstance(old, yaml.MappingNode) or same(theirs(old), theirs(new), set())
            assert kubeconfigglance.endpoint(PROFILE) == kubeconfig.endpoint(PROFILE)
            assert kubeconfigglance.current_context() == kubeconfig.current_context()


def theirs(root: yaml.MappingNode) -> dict[str, list[yaml.Node]]:
    """Everything but what is ours to change: all entries of that name, and the current context. Repeated keys are one."""
    found: dict[str, list[yaml.Node]] = {section: [] for section in SECTIONS}
    for key, value in root.value:
        if key.value in SECTIONS and isinstance(value, yaml.SequenceNode):
            found[key.value] += [item for item in value.value if not is_ours(item)]
        elif key.value not in ("current-context", *SECTIONS) and value is not root:
            found.setdefault(str(key.value), []).append(value)
    return found


def is_ours(item: yaml.Node) -> bool:
    names = [value for key, value in item.value if key.value == "name"] if isinstance(item, yaml.MappingNode) else []
    return bool(names) and isinstance(names[0], yaml.ScalarNode) and names[0].value == PROFILE


def same(one: Any, other: Any, seen: set[tuple[int, int]]) -> bool:
    """The same text at every place, however often a place is reached."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key], seen) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(mine, its, seen) for mine, its in zip(one, other, strict=True))
    if isinstance(one, str):
        return bool(one == other)
    if (id(one), id(other)) in seen:
        return True
    seen.add((id(one), id(other)))
    return type(one) is type(other) and one.tag == other.tag and same(one.value, other.value, seen)


def main(directory: str, seed: str, count: str) -> None:
    file = Path(directory) / "kubeconfig"
    os.environ["KUBECONFIG"] = str(file)
    for name, text in cases(int(seed), int(count)):
        print(name, flush=True)
        signal.alarm(SECONDS)
        try:
            check(text, file)
        except BaseException:
            Path(directory, "failed").write_bytes(text)
            raise
    print("all")


if __name__ == "__main__":
    main(*sys.argv[1:])
