from __future__ import annotations

import pytest

from minikube.artifacts.imagenames import file_name, full_name, name_from_file


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1", "docker.io/library/busybox:1"),
        ("team/app:1", "docker.io/team/app:1"),
        ("index.docker.io/app", "docker.io/library/app:latest"),
        ("localhost/app:1", "localhost/app:1"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        ("registry.example/a/b/c:v1.2_3-x", "registry.example/a/b/c:v1.2_3-x"),
        ("[::1]:5000/app:1", "[::1]:5000/app:1"),
        (f"app@sha256:{'0' * 64}", f"docker.io/library/app@sha256:{'0' * 64}"),
    ],
)
def test_full_name(short: str, full: str) -> None:
    assert full_name(short) == full


@pytest.mark.parametrize("text", ["", ":1", "App", "a b", "../x", "-x", "app:", "app:a b", "app@sha256:12", "app@", "a//b", "x/y:1:2"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of an image"):
        full_name(text)


def test_names_and_files() -> None:
    assert name_from_file("My app (2)") == "docker.io/library/my-app-2:latest"
    assert name_from_file("…") == "docker.io/library/image:latest"
    assert file_name("registry.k8s.io/pause:3.9") == "registry.k8s.io/pause_3.9"
