"""Registries and mirrors that lie: a reason each, and not a byte outside the directories that are theirs to fill."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.authority import Authority
from support.fileserver import file_server, status
from support.hostileregistry import Answer, HostileRegistry, digest_of, hostile_registry, index, layer
from support.smallbundle import tree

from minikube.artifacts import imagereference, remoteimages
from minikube.artifacts.download import Downloads
from minikube.artifacts.imagearchive import machine_architecture, opened
from minikube.artifacts.ocidocuments import INDEX, MANIFEST
from minikube.artifacts.origin import Origin
from minikube.artifacts.registry import Registry
from minikube.artifacts.web import Patience, Web
from minikube.output.progress import silent
from minikube.output.reason import Reason

PATIENCE = Patience(connect=2, idle=5, attempts=2, pause=0.01)
HERE = machine_architecture()
CONTENT = b"layer" * 100


@pytest.fixture
def registry() -> Iterator[HostileRegistry]:
    with hostile_registry() as made:
        yield made


def client(directory: Path) -> Registry:
    directory.mkdir(exist_ok=True)
    web = Web(environment={}, certificates=directory, patience=PATIENCE)
    return Registry(web, Downloads(directory / "parts", web, silent()))


def pull(registry: HostileRegistry, directory: Path, name: str = "app:1") -> None:
    client(directory).pull(imagereference.parse(f"{registry.host}/{name}"), directory / "image", HERE)


def refused(registry: HostileRegistry, directory: Path, name: str = "app:1") -> Reason:
    with pytest.raises(Reason) as caught:
        pull(registry, directory, name)
    assert caught.value.id.startswith(("INET_", "RSRC_"))
    return caught.value


def serve(registry: HostileRegistry, content: bytes = CONTENT, **changes: Any) -> dict[str, Any]:
    """An image with one layer, described as told."""
    described = layer(content, **changes)
    registry.blob(content, called=described["digest"])
    manifest = registry.image([described], [digest_of(content)], architecture=HERE)
    registry.manifest(manifest)
    return manifest


def test_an_honest_image_arrives(tmp_path: Path, registry: HostileRegistry) -> None:
    serve(registry)
    pull(registry, tmp_path)
    assert (tmp_path / "image" / "blobs" / "sha256" / digest_of(CONTENT)[7:]).read_bytes() == CONTENT


DIGESTS = ["{outside}/x:y", "e:{outside}/z", "sha256:../../../outside/a", "sha256:" + "A" * 64, "sha256:" + "a" * 63, "md5:" + "a" * 32, ""]


@pytest.mark.parametrize("digest", DIGESTS)
def test_a_digest_never_becomes_a_path(tmp_path: Path, registry: HostileRegistry, digest: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    digest = digest.format(outside=outside)
    registry.otherwise = lambda _path, _headers: Answer(CONTENT, MANIFEST)
    serve(registry, digest=digest)
    assert "is not a digest" in refused(registry, tmp_path / "layer").message
    manifest = serve(registry)
    registry.manifest(index(digest, architecture=HERE), media_type=INDEX)
    assert "is not a digest" in refused(registry, tmp_path / "index").message
    registry.manifest({**manifest, "config": {**manifest["config"], "digest": digest}})
    assert "is not a digest" in refused(registry, tmp_path / "config").message
    assert list(outside.iterdir()) == []
    made = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert made == set()


def test_image_load_and_cache_add_check_digests_as_well(tmp_path: Path, registry: HostileRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    outside = tmp_path / "outside"
    outside.mkdir()
    manifest = serve(registry)
    for diff_ids, digest in (([digest_of(CONTENT)], f"{outside}/x:y"), ([f"{outside}/x:y"], digest_of(CONTENT))):
        manifest = registry.image([layer(CONTENT, digest=digest)], diff_ids, architecture=HERE)
        registry.manifest(manifest)
        with pytest.raises(Reason, match=r"is not a digest|something else than an image"):
            remoteimages.write_archive(f"{registry.host}/app:1", tmp_path / "archive", Origin(), silent())
    assert list(outside.iterdir()) == []


def test_what_a_digest_names_is_what_it_stands_for(tmp_path: Path, registry: HostileRegistry) -> None:
    manifest = serve(registry)
    other = registry.manifest({**manifest, "annotations": {"other": "image"}}, called="other")
    for wanted in (digest_of(b"something else"), "sha512:" + "ab" * 64):
        registry.answers[f"/v2/app/manifests/{wanted}"] = registry.answers["/v2/app/manifests/1"]
        assert refused(registry, tmp_path / "by-name", f"app@{wanted}").id == "INET_BAD_CHECKSUM"
        registry.manifest(index(wanted, architecture=HERE), media_type=INDEX, called="index")
        assert refused(registry, tmp_path / "index", "app:index").id == "INET_BAD_CHECKSUM"
    registry.blob(b"another configuration", called=manifest["config"]["digest"])
    assert refused(registry, tmp_path / "config").id == "INET_BAD_CHECKSUM"
    registry.answers["/v2/app/manifests/1"] = Answer(json.dumps(manifest).encode(), MANIFEST, headers={"Docker-Content-Digest": other})
    assert refused(registry, tmp_path / "header").id == "INET_BAD_CHECKSUM"


def test_a_sha512_digest_is_followed_where_it_fits(tmp_path: Path, registry: HostileRegistry) -> None:
    import hashlib

    manifest = json.dumps(serve(registry)).encode()
    digest = f"sha512:{hashlib.sha512(manifest).hexdigest()}"
    registry.manifest(manifest, called=digest)
    pull(registry, tmp_path, f"app@{digest}")
    assert (tmp_path / "image" / "blobs" / digest.replace(":", "/")).read_bytes() == manifest


@pytest.mark.parametrize("size", [0, 10, 1 << 62, -1, 1.5, "12", None])
def test_a_layer_has_the_size_that_was_announced(tmp_path: Path, registry: HostileRegistry, size: Any) -> None:
    serve(registry, size=size)
    assert refused(registry, tmp_path / "x").id in ("INET_BAD_CHECKSUM", "RSRC_INSUFFICIENT_STORAGE")


@pytest.mark.parametrize("size", [0, 100_000])
def test_a_layer_without_end_is_left(tmp_path: Path, registry: HostileRegistry, size: int) -> None:
    serve(registry, size=size)
    registry.answers[f"/v2/app/blobs/{digest_of(CONTENT)}"] = Answer(bytes(1 << 16), endless=True)
    assert refused(registry, tmp_path / "x").id == "INET_BAD_CHECKSUM"
    parts = sum(path.stat().st_size for path in (tmp_path / "x").rglob("*.part"))
    assert parts <= 100_000


@pytest.mark.parametrize("path", ["manifests/1", "blobs/config"])
def test_a_document_without_end_is_left(tmp_path: Path, registry: HostileRegistry, path: str) -> None:
    manifest = serve(registry)
    path = path.replace("config", manifest["config"]["digest"])
    registry.answers[f"/v2/app/{path}"] = Answer(b" " * (1 << 16), MANIFEST, endless=True)
    assert "far larger" in refused(registry, tmp_path / "x").message
    assert registry.sent < 64 << 20


def test_more_layers_than_can_be_unpacked(tmp_path: Path, registry: HostileRegistry) -> None:
    registry.blob(CONTENT)
    registry.manifest(registry.image([layer(CONTENT)] * 3000, [digest_of(CONTENT)] * 3000, architecture=HERE))
    assert "3000 layers" in refused(registry, tmp_path / "x").message


def test_indexes_that_lead_to_indexes(tmp_path: Path, registry: HostileRegistry) -> None:
    digest = registry.manifest(index(digest_of(b"end"), architecture=HERE), media_type=INDEX, called="0")
    for number in range(1, 5):
        digest = registry.manifest(index(digest, architecture=HERE), media_type=INDEX, called=str(number))
    assert "another index" in refused(registry, tmp_path / "x", "app:4").message


def test_a_document_that_is_both_manifest_and_index(tmp_path: Path, registry: HostileRegistry) -> None:
    both = {**serve(registry), **index(digest_of(b"x"), architecture=HERE)}
    for media_type in (MANIFEST, INDEX):
        registry.manifest(both, media_type=media_type)
        assert "neither an index nor a manifest" in refused(registry, tmp_path / "x").message


@pytest.mark.parametrize(
    "target",
    ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x", "http://[::", "http:///", "//", "http://127.0.0.1:99999/", "data:,x"],
)
def test_redirects_lead_to_web_servers_only(tmp_path: Path, registry: HostileRegistry, target: str) -> None:
    registry.answers["/v2/app/manifests/1"] = Answer(status=307, headers={"Location": target})
    refused(registry, tmp_path / "x")


def test_a_checked_server_does_not_lead_to_an_unchecked_one(tmp_path: Path, registry: HostileRegistry) -> None:
    registry.otherwise = lambda _path, _headers: Answer(b"in the clear")
    certificates = tmp_path / "certs"
    certificates.mkdir()
    authority = Authority("test")
    (certificates / "ca.pem").write_bytes(authority.pem)
    (tmp_path / "server.pem").write_bytes(authority.issue("127.0.0.1"))
    with file_server(tmp_path, certificate=tmp_path / "server.pem") as server:
        server.faults["/sum"] = [status(302, Location=f"http://{registry.host}/sum")]
        web = Web(environment={}, certificates=certificates, patience=PATIENCE)
        with pytest.raises(Reason, match="leads to"):
            web.read(f"{server.url}/sum", headers={"Authorization": "Basic secret"})
    assert registry.requests == []


CHALLENGES = [
    'Bearer realm="{here}/token",service="x"',
    'Bearer realm="file:///etc/passwd"',
    'Bearer realm="http://[::"',
    'Bearer realm="http://127.0.0.1:99999/"',
    'Bearer realm=""',
    "Bearer",
    "Negotiate",
    "",
]


@pytest.mark.parametrize("challenge", CHALLENGES)
@pytest.mark.parametrize(
    "answer", [b'{"token": "a\\r\\nHost: evil"}', b'{"token": 17}', b"[]", b"not JSON", b"{}", b'{"token": "' + b"a" * 20000 + b'"}']
)
def test_tokens_by_form(tmp_path: Path, registry: HostileRegistry, challenge: str, answer: bytes) -> None:
    challenge = challenge.format(here=f"http://{registry.host}")
    registry.otherwise = lambda _path, _headers: Answer(status=401, headers={"WWW-Authenticate": challenge})
    registry.answers["/token"] = Answer(answer)
    refused(registry, tmp_path / "x")
    assert all("Host: evil" not in str(headers) for _path, headers in registry.requests)


def test_a_login_is_not_sent_where_anybody_could_read_it(
    tmp_path: Path, registry: HostileRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry has a certificate; the place it names for tokens has none."""
    authority = Authority("test")
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "ca.pem").write_bytes(authority.pem)
    (tmp_path / "server.pem").write_bytes(authority.issue("127.0.0.1"))
    registry.answers["/token"] = Answer(b'{"token": "t"}')
    with file_server(tmp_path, certificate=tmp_path / "server.pem") as server:
        host = server.url.removeprefix("https://")
        login = {"auths": {host: {"auth": base64.b64encode(b"me:secret").decode()}}}
        (tmp_path / "config.json").write_text(json.dumps(login))
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        server.faults["/v2/app/manifests/1"] = [
            status(401, WWW_Authenticate=f'Bearer realm="http://{registry.host}/token"') for _ in range(4)
        ]
        web = Web(environment={}, certificates=tmp_path / "certs", patience=PATIENCE)
        asking = Registry(web, Downloads(tmp_path / "parts", web, silent()))
        monkeypatch.setattr("minikube.artifacts.registry.is_local", lambda _host: False)  # loopback counts as insecure by itself
        with pytest.raises(Reason, match="anybody could read it"):
            asking.describe(imagereference.parse(f"{host}/app:1"), HERE)
    assert registry.requests == []


def test_headers_of_nonsense(tmp_path: Path, registry: HostileRegistry) -> None:
    for headers in ({"Content-Length": "\xb2"}, {"Content-Length": "9" * 5000}, {"Content-Length": "-1"}):
        registry.answers["/v2/app/manifests/1"] = Answer(b"{}", MANIFEST, headers={**headers, "Connection": "close"})
        refused(registry, tmp_path / "x")
    for wait in ("\xb2", "9" * 5000):
        registry.answers["/v2/app/manifests/1"] = Answer(status=503, headers={"Retry-After": wait})
        refused(registry, tmp_path / "x")


def test_answers_at_random_end_in_reasons_and_write_nothing_outside(tmp_path: Path, registry: HostileRegistry) -> None:
    """Documents that were right once, changed in places: keys, types, digests, sizes, cut bytes."""
    chance = random.Random(17)
    outside = tmp_path / "outside"
    outside.mkdir()
    hostile = [f"{outside}/x:y", f"sha256:{outside}", "", None, -1, 1 << 70, 1.5, [], {}, "\x1b[2J", True, "sha256:" + "0" * 64, ["x"] * 50]
    manifest = serve(registry)
    listed = index(registry.manifest(manifest), architecture=HERE)
    config = json.loads(registry.answers[f"/v2/app/blobs/{manifest['config']['digest']}"].body)
    outcomes = set()
    asking, name = client(tmp_path / "fuzzed"), imagereference.parse(f"{registry.host}/app:1")
    for number in range(120):
        which = chance.choice(["manifest", "index", "config"])
        changed = _changed({"manifest": manifest, "index": listed, "config": config}[which], chance, hostile)
        body = json.dumps(changed).encode()
        if chance.random() < 0.2:
            body = body[: chance.randrange(len(body))] + bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        registry.manifest(manifest)
        if which == "config":
            registry.manifest({**manifest, "config": {"digest": registry.blob(body), "size": len(body)}})
        else:
            registry.manifest(body, media_type=INDEX if which == "index" else MANIFEST)
        try:
            asking.pull(name, tmp_path / f"fuzzed/{number}", HERE)
            outcomes.add("arrived")
        except Reason as reason:
            outcomes.add(reason.id)
    assert list(outside.iterdir()) == []
    for blob in tmp_path.glob("fuzzed/*/blobs/*/*"):
        assert digest_of(blob.read_bytes()) == f"{blob.parent.name}:{blob.name}"
    assert {"arrived", "INET_BAD_CHECKSUM", "INET_IMAGE_NOT_FOUND"} <= outcomes


def _changed(value: Any, chance: random.Random, hostile: list[Any]) -> Any:
    """A copy with one part of it replaced, left out or repeated."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: _changed(value[key], chance, hostile)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        place = chance.randrange(len(value))
        return [*value[:place], _changed(value[place], chance, hostile), *value[place + 1 :]]
    return chance.choice(hostile)


def test_what_was_written_can_be_read(tmp_path: Path, registry: HostileRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
    serve(registry)
    remoteimages.write_archive(f"{registry.host}/app:1", tmp_path / "archive", Origin(), silent())
    with opened(tmp_path / "archive") as (image,):
        assert image.layers[0].digest == digest_of(CONTENT)
    assert [path for path in tree(tmp_path) if "outside" in path] == []
