"""Our own client against a real registry: indexes, architectures, digests, tokens, faults in between."""

from __future__ import annotations

import base64
import hashlib
import json
import tarfile
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from support.authority import Authority
from support.registryserver import INDEX, MANIFEST, Pusher, htpasswd, registry_server

from minikube.artifacts import imagereference, remoteimages
from minikube.artifacts.download import Downloads
from minikube.artifacts.imagearchive import opened
from minikube.artifacts.imagereference import Reference
from minikube.artifacts.layoutarchive import write_layouts
from minikube.artifacts.oci import Entry, Image, image_ids, write_archive
from minikube.artifacts.origin import Origin
from minikube.artifacts.registry import Registry
from minikube.artifacts.registrylogin import credentials
from minikube.artifacts.web import Patience, Web
from minikube.output.progress import silent
from minikube.output.reason import Reason

pytestmark = pytest.mark.build  # the registry is compiled once
PATIENCE = Patience(connect=2, idle=5, attempts=2, pause=0.01)


def layout(directory: Path, name: str, architecture: str) -> Path:
    """An image with one small layer."""
    image = Image(name, ((Entry("which", 0o644, content=architecture.encode() * 1000),),), entrypoint=("/which",))
    write_archive(directory / f"{architecture}.tar", [image], architecture=architecture)
    with tarfile.open(directory / f"{architecture}.tar") as packed:
        packed.extractall(directory / architecture, filter="data")
    return directory / architecture


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A registry with `team/app:1` for two architectures, and `team/plain:1` without an index; digests by name."""
    directory = tmp_path_factory.mktemp("registry")
    with registry_server(directory) as host:
        pusher, digests, entries = Pusher(host), {}, []
        for architecture in ("arm64", "amd64"):
            made = layout(directory, f"x/team/app:{architecture}", architecture)
            digests |= pusher.layout(made)
            digest = digests[f"team/app:{architecture}"]
            entries.append({"mediaType": MANIFEST, "digest": digest, "size": 1, "platform": {"os": "linux", "architecture": architecture}})
            entries[-1]["size"] = len((made / "blobs" / digest.replace(":", "/")).read_bytes())
        index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()
        digests["team/app:1"] = pusher.manifest("team/app", "1", index, INDEX)
        (directory / "plain").mkdir()
        digests |= pusher.layout(layout(directory / "plain", "x/team/plain:1", "amd64"))
        yield host, digests


def client(tmp_path: Path, **more: Any) -> Registry:
    web = Web(environment={}, certificates=tmp_path, patience=PATIENCE)
    return Registry(web, Downloads(tmp_path / "parts", web, silent()), **more)


def reference(host: str, rest: str) -> Reference:
    return imagereference.parse(f"{host}/{rest}")


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_the_build_for_an_architecture_is_pulled(tmp_path: Path, pushed: tuple[str, dict[str, str]], architecture: str) -> None:
    host, digests = pushed
    manifest = client(tmp_path).pull(reference(host, "team/app:1"), tmp_path / "image", architecture, name="app:1")
    assert (manifest.digest, manifest.own_digest) == (digests["team/app:1"], digests[f"team/app:{architecture}"])
    for blob in (tmp_path / "image" / "blobs" / "sha256").iterdir():
        assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
    write_layouts(tmp_path / "both.tar", [tmp_path / "image", tmp_path / "image"])
    assert image_ids(tmp_path / "both.tar") == {"app:1": manifest.content.config.digest}


def test_by_digest(tmp_path: Path, pushed: tuple[str, dict[str, str]]) -> None:
    host, digests = pushed
    wanted = reference(host, f"team/app@{digests['team/app:1']}")
    assert client(tmp_path).pull(wanted, tmp_path / "image", "amd64").digest == digests["team/app:1"]


def test_only_for_another_architecture(tmp_path: Path, pushed: tuple[str, dict[str, str]]) -> None:
    for name, architecture, words in (("team/app:1", "riscv64", "linux/arm64, linux/amd64"), ("team/plain:1", "arm64", "amd64 only")):
        with pytest.raises(Reason, match=words) as caught:
            client(tmp_path).pull(reference(pushed[0], name), tmp_path / name.replace("/", "-"), architecture)
        assert caught.value.id == "INET_IMAGE_NOT_FOUND"


@pytest.mark.parametrize("name", ["team/app:2", "nobody/nothing:1"])
def test_not_there(tmp_path: Path, pushed: tuple[str, dict[str, str]], name: str) -> None:
    with pytest.raises(Reason, match="has no image") as caught:
        client(tmp_path).pull(reference(pushed[0], name), tmp_path / "image", "amd64")
    assert caught.value.id == "INET_IMAGE_NOT_FOUND"


def test_a_mirror_of_docker_hub_is_asked_first(tmp_path: Path, pushed: tuple[str, dict[str, str]]) -> None:
    host, digests = pushed
    registry = client(tmp_path, mirrors=[f"http://{host}"])
    assert registry.pull(imagereference.parse("team/plain:1"), tmp_path / "image", "amd64").digest == digests["team/plain:1"]


class TestAuthority:
    """A registry that wants a token, and the place that gives one out: for everybody, or for those with a password."""

    @pytest.fixture
    def guarded(self, tmp_path: Path) -> Iterator[str]:
        pem = Authority("tokens").issue("127.0.0.1")
        (tmp_path / "tokens.pem").write_bytes(x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.PEM))
        key = serialization.load_pem_private_key(pem, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        chain = base64.b64encode(x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)).decode()

        class Tokens(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                known = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"me:secret").decode()
                kind, name, actions = asked["scope"][0].split(":")
                access = [{"type": kind, "name": name, "actions": actions.split(",")}] if known or name == "team/public" else []
                body = json.dumps({"token": signed(access)}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        def signed(access: list[dict[str, Any]]) -> str:
            now = int(time.time())
            claims = {"iss": "us", "sub": "", "aud": "registry", "exp": now + 300, "nbf": now - 5, "iat": now, "jti": "1", "access": access}
            parts = [{"typ": "JWT", "alg": "ES256", "x5c": [chain]}, claims]
            text = ".".join(_base64(json.dumps(part).encode()) for part in parts)
            r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
            return f"{text}.{_base64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

        # Filled while it is open, then served again behind its guard.
        with registry_server(tmp_path / "registry") as host:
            for name in ("public", "private"):
                (tmp_path / name).mkdir()
                Pusher(host).layout(layout(tmp_path / name, f"x/team/{name}:1", "amd64"))
        with ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as server:
            Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            realm = f"http://127.0.0.1:{server.server_address[1]}/token"
            bundle = str(tmp_path / "tokens.pem")
            auth = {"token": {"realm": realm, "service": "registry", "issuer": "us", "rootcertbundle": bundle}}
            with registry_server(tmp_path / "registry", auth=auth) as host:
                yield host
            server.shutdown()

    def test_tokens(self, tmp_path: Path, guarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        client(tmp_path).pull(reference(guarded, "team/public:1"), tmp_path / "first", "amd64")
        with pytest.raises(Reason) as caught:
            client(tmp_path).pull(reference(guarded, "team/private:1"), tmp_path / "second", "amd64")
        assert caught.value.id == "INET_NOT_ALLOWED"
        login = {"auths": {guarded: {"auth": base64.b64encode(b"me:secret").decode()}}}
        (tmp_path / "config.json").write_text(json.dumps(login))
        client(tmp_path).pull(reference(guarded, "team/private:1"), tmp_path / "third", "amd64")


class TestLogins:
    """A registry that wants a name and a password, and the places where users have theirs."""

    @pytest.fixture
    def guarded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        for name in ("DOCKER_CONFIG", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, str(tmp_path / name))
        monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))
        monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
        with registry_server(tmp_path / "registry") as host:
            Pusher(host).layout(layout(tmp_path, "x/team/app:1", "amd64"))
        with registry_server(tmp_path / "registry", auth=htpasswd(tmp_path)) as host:
            yield host

    def keep(self, file: Path, content: dict[str, Any]) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))

    @pytest.mark.parametrize("place", ["DOCKER_CONFIG/config.json", "XDG_RUNTIME_DIR/containers/auth.json", "elsewhere.json"])
    def test_where_they_are_kept(self, tmp_path: Path, guarded: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "elsewhere.json"))
        with pytest.raises(Reason) as caught:
            client(tmp_path).describe(reference(guarded, "team/app:1"), "amd64")
        assert caught.value.id == "INET_NOT_ALLOWED"
        self.keep(tmp_path / place, {"auths": {guarded: {"auth": base64.b64encode(b"me:secret").decode()}}})
        client(tmp_path).describe(reference(guarded, "team/app:1"), "amd64")

    def test_a_program_has_them(self, tmp_path: Path, guarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "bin/docker-credential-test"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nread -r host\n[ "$host" = {guarded} ] && echo \'{{"Username": "me", "Secret": "secret"}}\'\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        for content in ({"credsStore": "test"}, {"credHelpers": {guarded: "test"}}):
            self.keep(tmp_path / "DOCKER_CONFIG/config.json", content)
            client(tmp_path).describe(reference(guarded, "team/app:1"), "amd64")
        assert credentials("other.example") == ""

    def test_a_mirror_is_not_told_what_docker_hub_may_know(self, tmp_path: Path, guarded: str) -> None:
        login = {"auth": base64.b64encode(b"me:secret").decode()}
        self.keep(tmp_path / "DOCKER_CONFIG/config.json", {"auths": {"https://index.docker.io/v1/": login}})
        assert credentials("docker.io") == login["auth"]
        mirrored = client(tmp_path, mirrors=[f"http://{guarded}"])
        with pytest.raises(Reason) as caught:
            mirrored._manifest(mirrored.endpoints("docker.io")[0], imagereference.parse("team/app:1"), "amd64")
        assert caught.value.id == "INET_NOT_ALLOWED"

    def test_a_whole_image_becomes_an_archive(self, tmp_path: Path, guarded: str) -> None:
        self.keep(tmp_path / "DOCKER_CONFIG/config.json", {"auths": {guarded: {"username": "me", "password": "secret"}}})
        name = f"{guarded}/team/app:1"
        remoteimages.write_archive(name, tmp_path / "image.tar", Origin(), silent())
        with opened(tmp_path / "image.tar") as (image,):
            assert image.names == (name,)
            assert [layer.piece is None for layer in image.layers] == [False]
        assert not list((tmp_path / "store/downloads").iterdir())

    def test_only_what_is_asked_for_is_fetched(self, tmp_path: Path, guarded: str) -> None:
        self.keep(tmp_path / "DOCKER_CONFIG/config.json", {"auths": {guarded: {"username": "me", "password": "secret"}}})
        with remoteimages.looked_up(f"{guarded}/team/app:1", Origin(), silent()) as remote:
            (layer,) = remote.image.layers
            assert layer.piece
            remote.fetch(())
            assert not Path(layer.piece.path).exists()
            remote.fetch([layer.digest])
            assert Path(layer.piece.path).stat().st_size == layer.size


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
