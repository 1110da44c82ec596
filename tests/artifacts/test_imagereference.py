"""Names of images."""

from __future__ import annotations

import pytest

from minikube.artifacts.imagereference import parse
from minikube.output.reason import Reason

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("team/app:1", "docker.io/team/app:1"),
        ("docker.io/nginx", "docker.io/library/nginx:latest"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/app:1", "localhost:5000/app:1"),
        ("registry.k8s.io/coredns/coredns:v1.14.6", "registry.k8s.io/coredns/coredns:v1.14.6"),
        (f"registry.k8s.io/pause@{DIGEST}", f"registry.k8s.io/pause@{DIGEST}"),
        (f"registry.k8s.io/pause:3.10@{DIGEST}", f"registry.k8s.io/pause:3.10@{DIGEST}"),
    ],
)
def test_what_a_name_means(text: str, whole: str) -> None:
    assert str(parse(text)) == whole
    assert parse(whole) == parse(text)


@pytest.mark.parametrize("text", ["", "Upper", "a b", "x:", "x@sha256:1", "a//b", "https://x.io/y", "x.io/../y"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(Reason, match="not the name of an image"):
        parse(text)
