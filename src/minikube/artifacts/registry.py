"""A client of container registries: manifests and blobs by the OCI distribution protocol, into OCI image layouts on disk."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from minikube.artifacts.download import Downloads, Wanted
from minikube.artifacts.endpoints import DOCKER_HUB, DOCKER_HUB_SERVER
from minikube.artifacts.imagereference import Reference
from minikube.artifacts.proxies import is_local
from minikube.artifacts.registrylogin import credentials
from minikube.artifacts.web import Trouble, Web
from minikube.output.reason import Reason

_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_ACCEPT = {"Accept": ", ".join((*_INDEXES, *_MANIFESTS))}
_WORTH_SHOWING = 1 << 20
_LIMIT = 4 << 20  # bytes in a manifest, as registries have it


class Endpoint(NamedTuple):
    """One server that has a registry's images."""

    host: str
    insecure: bool = False
    """May speak plain HTTP, and need not show a certificate that anybody knows."""


class Manifest(NamedTuple):
    """One image for one architecture, as a registry describes it."""

    digest: str
    """What the name stands for: of the index where there is one."""
    own_digest: str
    media_type: str
    body: bytes

    @property
    def blobs(self) -> list[dict[str, Any]]:
        """The configuration, then the layers."""
        content = json.loads(self.body)
        return [content["config"], *content["layers"]]

    @property
    def size(self) -> int:
        return sum(int(blob["size"]) for blob in self.blobs)


class RemoteImage(NamedTuple):
    """An image as a registry has it, all but its layers."""

    reference: Reference
    endpoint: Endpoint
    manifest: Manifest
    config: bytes

    @property
    def layers(self) -> list[dict[str, Any]]:
        return self.manifest.blobs[1:]


class Registry:
    """`insecure` are hosts and networks as `--insecure-registry` names them, `mirrors` those of `--registry-mirror` (for Docker Hub)."""

    def __init__(self, web: Web, downloads: Downloads, *, insecure: Sequence[str] = (), mirrors: Sequence[str] = ()) -> None:
        self.web, self.downloads, self.insecure, self.mirrors = web, downloads, tuple(insecure), tuple(mirrors)
        self._bases: dict[str, str] = {}
        self._tokens: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def resolve(self, reference: Reference, architecture: str) -> tuple[Endpoint, Manifest]:
        """The manifest behind a name, for an architecture, and the server that has it."""
        endpoints = self.endpoints(reference.registry)
        for endpoint in endpoints:
            try:
                return endpoint, self._manifest(endpoint, reference, architecture)
            except Reason:
                if endpoint is endpoints[-1]:
                    raise
        raise AssertionError  # there is always an endpoint

    def pull(self, reference: Reference, directory: Path, architecture: str, *, name: str = "") -> Manifest:
        """Fill an empty directory with an OCI layout of one image; `name` is what it is called there, if not by its own name."""
        image = self.describe(reference, architecture)
        manifest = image.manifest
        blobs = directory / "blobs" / "sha256"
        blobs.mkdir(parents=True)
        for digest in {layer["digest"] for layer in image.layers}:
            self.fetch(image, digest, directory / "blobs" / digest.replace(":", "/"))
        (directory / "blobs" / manifest.blobs[0]["digest"].replace(":", "/")).write_bytes(image.config)
        (blobs / manifest.own_digest.partition(":")[2]).write_bytes(manifest.body)
        described = {
            "mediaType": manifest.media_type,
            "digest": manifest.own_digest,
            "size": len(manifest.body),
            "platform": {"architecture": architecture, "os": "linux"},
            "annotations": {"io.containerd.image.name": name or str(reference), "org.opencontainers.image.ref.name": reference.tag},
        }
        (directory / "index.json").write_text(json.dumps({"schemaVersion": 2, "mediaType": _INDEXES[0], "manifests": [described]}))
        (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        return manifest

    def describe(self, reference: Reference, architecture: str) -> RemoteImage:
        """Everything that is to be known of an image before its layers are fetched."""
        endpoint, manifest = self.resolve(reference, architecture)
        described = manifest.blobs[0]
        url = f"{self._base(endpoint)}/v2/{reference.repository}/blobs/{described['digest']}"
        try:
            config, _ = self._authorized(endpoint, reference, lambda access: self.web.read(url, headers=access, limit=_LIMIT))
        except Reason as reason:
            raise _about_image(reference, endpoint, reason) from reason
        if _sha256(config) != described["digest"]:
            raise Reason("INET_BAD_CHECKSUM", f"{endpoint.host} sends a configuration of {reference} that is not the one it should be")
        _check_architecture(reference, config, architecture)
        return RemoteImage(reference, endpoint, manifest, config)

    def fetch(self, image: RemoteImage, digest: str, target: Path) -> None:
        """One layer into a file."""
        layer = next(layer for layer in image.layers if layer["digest"] == digest)
        self._blob(image.endpoint, image.reference, layer, target)

    def endpoints(self, registry: str) -> list[Endpoint]:
        """The servers to ask for a registry's images, in order."""
        if registry != DOCKER_HUB:
            return [Endpoint(registry, is_insecure(registry, self.insecure))]
        mirrors = [Endpoint(mirror.partition("://")[2] or mirror, mirror.startswith("http://")) for mirror in self.mirrors]
        return [
            *(Endpoint(one.host.rstrip("/"), one.insecure or is_insecure(one.host, self.insecure)) for one in mirrors),
            Endpoint(DOCKER_HUB_SERVER),
        ]

    def _manifest(self, endpoint: Endpoint, reference: Reference, architecture: str) -> Manifest:
        body, media_type = self._document(endpoint, reference, reference.wanted)
        digest = own = _sha256(body)
        if media_type in _INDEXES:
            entry = _for_architecture(reference, json.loads(body), architecture)
            body, media_type = self._document(endpoint, reference, entry["digest"])
            own = entry["digest"]
        if media_type not in _MANIFESTS:
            raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is kept in a form that nobody uses any more ({media_type})")
        return Manifest(digest, own, media_type, body)

    def _document(self, endpoint: Endpoint, reference: Reference, wanted: str) -> tuple[bytes, str]:
        url = f"{self._base(endpoint)}/v2/{reference.repository}/manifests/{wanted}"
        try:
            body, headers = self._authorized(
                endpoint, reference, lambda access: self.web.read(url, headers={**_ACCEPT, **access}, limit=_LIMIT)
            )
        except Reason as reason:
            raise _about_image(reference, endpoint, reason) from reason
        claimed = wanted if wanted.startswith("sha256:") else headers.get("Docker-Content-Digest", "")
        if claimed.startswith("sha256:") and claimed != _sha256(body):
            raise Reason("INET_BAD_CHECKSUM", f"{endpoint.host} sends a description of {reference} that is not the one it should be")
        try:
            described = json.loads(body).get("mediaType", "")
        except ValueError:
            raise Reason("INET_BAD_CHECKSUM", f"{endpoint.host} sends something that is no description of {reference}") from None
        return body, headers.get("Content-Type", "").partition(";")[0] or described

    def _blob(self, endpoint: Endpoint, reference: Reference, blob: Mapping[str, Any], target: Path) -> None:
        url = f"{self._base(endpoint)}/v2/{reference.repository}/blobs/{blob['digest']}"
        label = f"image {reference.repository.rpartition('/')[2]}:{reference.tag}" if int(blob["size"]) >= _WORTH_SHOWING else ""

        def fetch(access: Mapping[str, str]) -> None:
            self.downloads.fetch(Wanted((url,), blob["digest"], label, int(blob["size"]), access), target)

        try:
            self._authorized(endpoint, reference, fetch)
        except Reason as reason:
            raise _about_image(reference, endpoint, reason) from reason

    def _authorized(self, endpoint: Endpoint, reference: Reference, ask: Any) -> Any:
        """Ask with what is known; a refusal says where a token is to be had, and a token may have run out."""
        key = (endpoint.host, reference.repository)
        try:
            return ask(self._access(key))
        except Reason as reason:
            challenge = reason.__cause__.headers if isinstance(reason.__cause__, Trouble) and reason.__cause__.status == 401 else None
            if challenge is None:
                raise
        self._tokens[key] = self._authorize(endpoint, reference, _header(challenge, "WWW-Authenticate"))
        return ask(self._access(key))

    def _access(self, key: tuple[str, str]) -> dict[str, str]:
        return {"Authorization": self._tokens[key]} if key in self._tokens else {}

    def _authorize(self, endpoint: Endpoint, reference: Reference, challenge: str) -> str:
        """What to send as Authorization: a token from the place the registry names, or the user's own name and password."""
        scheme, _, rest = challenge.partition(" ")
        own = _login(endpoint)
        if scheme.lower() != "bearer":
            return f"Basic {own}" if own else ""
        fields = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        question = {"service": fields.get("service", ""), "scope": fields.get("scope", f"repository:{reference.repository}:pull")}
        url = f"{fields.get('realm', '')}?{urlencode(question)}"
        body, _ = self.web.read(url, headers={"Authorization": f"Basic {own}"} if own else {})
        answer = json.loads(body)
        return f"Bearer {answer.get('token') or answer.get('access_token')}"

    def _base(self, endpoint: Endpoint) -> str:
        """`https://host`, or http where that is allowed and nothing else is spoken."""
        if not endpoint.insecure:
            return f"https://{endpoint.host}"
        with self._lock:
            if endpoint.host not in self._bases:
                self._bases[endpoint.host] = f"https://{endpoint.host}" if self._speaks_tls(endpoint.host) else f"http://{endpoint.host}"
            return self._bases[endpoint.host]

    def _speaks_tls(self, host: str) -> bool:
        self.web.leave_unchecked(host)
        try:
            self.web.open(f"https://{host}/v2/").close()
        except Trouble as trouble:
            return trouble.status > 0
        return True


def is_insecure(host: str, insecure: Sequence[str]) -> bool:
    """Whether a registry (or one of its mirrors) need not speak TLS: this machine itself, and whatever `--insecure-registry` names."""
    name = host.partition("/")[0]
    bare = name.rpartition(":")[0] or name
    if is_local(bare) or name in insecure or bare in insecure:
        return True
    try:
        address = ip_address(bare)
    except ValueError:
        return False
    return any(address in ip_network(entry, strict=False) for entry in insecure if "/" in entry and entry[0].isdigit())


def _for_architecture(reference: Reference, index: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    offered = []
    for entry in index.get("manifests", []):
        platform = entry.get("platform", {})
        if platform.get("os") == "linux" and platform.get("architecture") == architecture:
            return dict(entry)
        offered.append(f"{platform.get('os')}/{platform.get('architecture')}")
    raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is not there for linux/{architecture}, only for {', '.join(offered) or 'nothing'}")


def _check_architecture(reference: Reference, config: bytes, architecture: str) -> None:
    try:
        found = json.loads(config).get("architecture", architecture)
    except (ValueError, AttributeError):
        raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is something else than an image of containers") from None
    if found != architecture:
        raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is there for {found} only, and this machine is {architecture}")


def _about_image(reference: Reference, endpoint: Endpoint, reason: Reason) -> Reason:
    if reason.id == "INET_NOT_FOUND":
        return Reason(
            "INET_IMAGE_NOT_FOUND", f"{endpoint.host} has no image {reference}", advice="Check its name and tag, and --image-repository."
        )
    if reason.id == "INET_NOT_ALLOWED":
        how = "with the login that is known here" if _login(endpoint) else "without a login"
        advice = f"Log in, or as somebody who may: docker login {endpoint.host} (podman login serves as well)."
        return Reason("INET_NOT_ALLOWED", f"{endpoint.host} does not give out {reference} {how}", advice=advice)
    return reason


def _login(endpoint: Endpoint) -> str:
    """A mirror is somebody else: it gets the login that was made with it, not the one at the registry it mirrors."""
    return credentials(DOCKER_HUB if endpoint.host == DOCKER_HUB_SERVER else endpoint.host)


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name.lower()), "")


def _sha256(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
