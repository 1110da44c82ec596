"""Images from and to real registries: one without TLS that wants a password, and one with a certificate of a private authority."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from support.authority import Authority
from support.minikube import Answer, Minikube
from support.nodeimage import fresh_name
from support.registryserver import htpasswd, registry_server
from support.world import world

from minikube.artifacts.imagearchive import opened
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.profiles.paths import store

ADDRESS = "198.51.100.1"
GUARDED, SECURED, REFUSED = f"{ADDRESS}:5000", f"{ADDRESS}:5443", f"{ADDRESS}:5001"
MEGABYTES = 8


class Town(NamedTuple):
    """A cluster, and registries in its host's network."""

    cluster: Minikube
    directory: Path

    def image(self, *words: str) -> Answer:
        return self.cluster.run("image", *words)

    def log_in(self, password: str = "secret") -> None:
        login = {"auths": {GUARDED: {"auth": base64.b64encode(f"me:{password}".encode()).decode()}}}
        (self.directory / "docker/config.json").write_text(json.dumps(login))

    def log_out(self) -> None:
        (self.directory / "docker/config.json").unlink(missing_ok=True)

    def tags(self) -> list[str]:
        return self.cluster.ok("image", "ls").split()


@pytest.fixture(scope="module")
def town(node_image: Path) -> Iterator[Town]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mk-registries-", dir="/var/tmp")))
        host = stack.enter_context(world(directory, node_image))
        for words in (
            ("link", "add", "lan0", "type", "bridge"),
            ("addr", "add", f"{ADDRESS}/24", "dev", "lan0"),
            ("link", "set", "lan0", "up"),
        ):
            host.tool("ip", *words)
        authority = Authority("somebody's own")
        (directory / "server.pem").write_bytes(authority.issue(ADDRESS))
        (host.home / "certs").mkdir(parents=True)
        (host.home / "certs/authority.pem").write_bytes(authority.pem)
        (directory / "docker").mkdir()
        host.environment |= {"DOCKER_CONFIG": str(directory / "docker"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        pem = {"certificate": str(directory / "server.pem"), "key": str(directory / "server.pem")}
        enter = host.enter()
        stack.enter_context(registry_server(directory / "guarded", host=GUARDED, enter=enter, auth=htpasswd(directory)))
        stack.enter_context(registry_server(directory / "secured", host=SECURED, enter=enter, tls=pem))
        stack.enter_context(registry_server(directory / "refused", host=REFUSED, enter=enter))
        made = Town(Minikube(host, fresh_name()), directory)
        stack.callback(host.run, "delete", "--all", "--purge", timeout=180)
        # The port of an insecure registry is opened by itself, others of the host are not.
        ports = ",".join(name.rpartition(":")[2] for name in (SECURED, REFUSED))
        made.cluster.start(f"--insecure-registry={GUARDED}", f"--host-access={ports}")
        (directory / "large").write_bytes(bytes(range(256)) * 4096 * MEGABYTES)
        base = (Entry("large", source=directory / "large"),)
        write_archive(directory / "app.tar", [Image("docker.io/library/app:1", (base, (Entry("word", content=b"first"),)))])
        write_archive(directory / "app2.tar", [Image("docker.io/library/app:2", (base, (Entry("word", content=b"second"),)))])
        yield made


@pytest.fixture(scope="module")
def pushed(town: Town) -> str:
    """An image of the cluster, pushed with the user's login; the cluster has it no more."""
    name = f"{GUARDED}/team/app:1"
    town.cluster.ok("image", "load", str(town.directory / "app.tar"))
    town.cluster.ok("image", "tag", "app:1", name)
    town.log_out()
    refused = town.image("push", name)
    assert (refused.code, "does not allow it without a login" in refused.stderr) == (80, True), refused
    assert f"docker login {GUARDED}" in refused.stderr
    town.log_in()
    town.cluster.ok("image", "push", name)
    town.cluster.ok("image", "tag", "app:1", f"{SECURED}/team/app:1")
    town.cluster.ok("image", "push", f"{SECURED}/team/app:1")
    town.cluster.ok("image", "rm", name, f"{SECURED}/team/app:1", "app:1")
    return name


def test_what_was_pushed_is_in_the_registry(town: Town, pushed: str) -> None:
    for registry in ("guarded", "secured"):
        assert (town.directory / registry / "data/docker/registry/v2/repositories/team/app/_manifests/tags/1").is_dir()


def test_the_login_is_nowhere_in_the_node(town: Town, pushed: str) -> None:
    secret = base64.b64encode(b"me:secret").decode()
    assert town.cluster.ssh(f"grep -rlF {secret} /tmp /etc /run /var/log 2>/dev/null || true") == ""


def test_pull_with_and_without_a_login(town: Town, pushed: str) -> None:
    town.log_out()
    refused = town.image("pull", pushed)
    assert (refused.code, "does not allow it without a login" in refused.stderr) == (80, True), refused
    town.log_in("wrong")
    refused = town.image("pull", pushed)
    assert (refused.code, "with the login that is known here" in refused.stderr) == (80, True), refused
    town.log_in()
    town.cluster.ok("image", "pull", pushed)
    assert pushed in town.tags()
    town.cluster.ok("image", "rm", pushed)


def test_pull_from_a_registry_of_a_private_authority(town: Town, pushed: str) -> None:
    town.cluster.ok("image", "pull", f"{SECURED}/team/app:1")
    assert f"{SECURED}/team/app:1" in town.tags()
    town.cluster.ok("image", "rm", f"{SECURED}/team/app:1")


def test_load_fetches_only_the_layers_that_the_cluster_lacks(town: Town, pushed: str) -> None:
    town.log_out()
    refused = town.image("load", pushed)
    assert (refused.code, "does not give out" in refused.stderr, "docker login" in refused.stderr) == (80, True, True), refused
    town.log_in()
    town.cluster.ok("image", "load", str(town.directory / "app2.tar"))
    said = town.cluster.ok("image", "load", pushed)
    assert "(0.0 of" in said, said
    assert pushed in town.tags()
    town.cluster.ok("image", "rm", pushed, "app:2")
    said = town.cluster.ok("image", "load", "--remote", pushed)
    assert f"({(MEGABYTES << 20) / 1e6:.1f} of" in said, said
    looked = town.cluster.ssh(
        f"mkdir -p /tmp/look && ctr -n k8s.io images mount {pushed} /tmp/look > /dev/null && cat /tmp/look/word; "
        "ctr -n k8s.io images unmount --rm /tmp/look > /dev/null"
    )
    assert looked.strip() == "first"
    town.cluster.ok("image", "rm", pushed)
    assert not list((store() / "downloads").glob("image-*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pull", f"{GUARDED}/team/app:none"), f"there is no image {GUARDED}/team/app:none"),
        (("load", f"{GUARDED}/team/app:none"), "has no image"),
        (("push", f"{GUARDED}/team/never:1"), f"there is no image {GUARDED}/team/never:1"),
        (("pull", f"{REFUSED}/team/app:1"), "does not speak HTTPS"),
        (("pull", f"{ADDRESS}:9/team/app:1"), "cannot be reached from the node"),
        (("load", "--remote", f"{ADDRESS}:9/team/app:1"), "cannot be had"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refusals(town: Town, pushed: str, words: tuple[str, ...], said: str) -> None:
    town.log_in()
    answer = town.image(*words)
    assert answer.code == 80, answer
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_cache_takes_images_of_registries(town: Town, pushed: str) -> None:
    """Nobody on this machine has it, and no cluster either."""
    place = town.cluster.place
    town.log_in()
    town.cluster.ok("cache", "add", pushed)
    try:
        (cached,) = (place.home / "cache/images").glob("*/*/team/app_1")
        with opened(cached) as (image,):
            assert image.names == (pushed,)
            assert all(layer.piece for layer in image.layers)
        assert pushed in town.tags()
    finally:
        town.cluster.run("cache", "delete", pushed)
        town.cluster.run("image", "rm", pushed)
