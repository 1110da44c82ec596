"""containerd's certs.d."""

from __future__ import annotations

import tomllib

from minikube.runtimes.registryhosts import for_push, registry_hosts


def test_nothing_is_written_for_nothing() -> None:
    assert registry_hosts((), ()) == {}


def test_insecure_registries_are_asked_with_tls_first() -> None:
    files = registry_hosts(["10.0.0.5:5000", "10.96.0.0/12"], ())
    assert list(files) == ["/etc/containerd/certs.d/10.0.0.5:5000/hosts.toml"]
    hosts = tomllib.loads(files["/etc/containerd/certs.d/10.0.0.5:5000/hosts.toml"])["host"]
    assert list(hosts) == ["https://10.0.0.5:5000", "http://10.0.0.5:5000"]
    assert hosts["https://10.0.0.5:5000"]["skip_verify"] is True


def test_mirrors_of_docker_hub() -> None:
    files = registry_hosts(["mirror.example"], ["https://mirror.example/", "http://second.example"])
    said = tomllib.loads(files["/etc/containerd/certs.d/docker.io/hosts.toml"])
    assert said["server"] == "https://registry-1.docker.io"
    assert list(said["host"]) == ["https://mirror.example", "http://second.example"]
    assert said["host"]["https://mirror.example"] == {"capabilities": ["pull", "resolve"], "skip_verify": True}


def test_a_push_knows_one_host_at_a_time() -> None:
    """containerd pushes to the first of several only."""
    tried = [tomllib.loads(text)["host"] for text in for_push("10.0.0.5:5000", "bWU6c2VjcmV0", insecure=True)]
    assert [list(hosts) for hosts in tried] == [["https://10.0.0.5:5000"], ["http://10.0.0.5:5000"]]
    assert all(host["header"] == {"Authorization": "Basic bWU6c2VjcmV0"} for hosts in tried for host in hosts.values())
    (only,) = (tomllib.loads(text)["host"] for text in for_push("docker.io", "", insecure=False))
    assert only == {"https://registry-1.docker.io": {"capabilities": ["pull", "resolve", "push"]}}
