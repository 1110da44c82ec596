"""Which words of `minikube cp` mean a node."""

import pytest

from minikube.cluster.copying import Place, copy, parse
from minikube.output.reason import Reason


@pytest.mark.parametrize(
    ("text", "node", "path"),
    [
        ("a.txt", "", "a.txt"),
        ("/a/b", "", "/a/b"),
        ("node:/a/b", "node", "/a/b"),
        ("node-m02:/a:b", "node-m02", "/a:b"),
        ("node:a", "", "node:a"),
        ("./x:/y", "", "./x:/y"),
        (":/a", "", ":/a"),
        ("", "", ""),
    ],
)
def test_parse(text: str, node: str, path: str) -> None:
    assert parse(text) == Place(node, path)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [("", "/x", "Source can not be empty"), ("x", "", "Target can not be empty"), ("x", "y", "must be an absolute Path")],
)
def test_refused_before_anything_is_looked_at(source: str, target: str, words: str) -> None:
    with pytest.raises(Reason, match=words) as refused:
        copy("nowhere", source, target)
    assert refused.value.exit_code == 14
