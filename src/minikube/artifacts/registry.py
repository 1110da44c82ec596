"""A client of container registries: manifests and blobs by the OCI distribution protocol, into OCI image layouts on disk."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from minikube.artifacts.digests import Digest, NotADigest, digest_of
from minikube.artifacts.download import Downloads, Wanted
from minikube.artifacts.endpoints import DOCKER_HUB, DOCKER_HUB_SERVER
from minikube.artifacts.imagereference import Reference
from minikube.artifacts.ocidocuments import (
    DOCUMENT_BYTES,
    INDEX,
    INDEXES,
    MANIFESTS,
    Descriptor,
    ImageManifest,
    IndexEntry,
    NotADocument,
    decoded,
    read_config,
    read_document,
)
from minikube.artifacts.proxies import is_local
from minikube.artifacts.registrylogin import credentials
from minikube.artifacts.web import Trouble, Web, is_address
from minikube.output.reason import Reason

_ACCEPT = {"Accept": ", ".join((*INDEXES, *MANIFESTS))}
_WORTH_SHOWING = 1 << 20
_ANSWER_BYTES = 1 << 20
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")


class Endpoint(NamedTuple):
    """One server that has a registry's images."""

    host: str
    insecure: bool = False
    """May speak plain HTTP, and need not show a certificate that anybody knows."""


class Manifest(NamedTuple):
    """One image for one architecture, as a registry describes it."""

    digest: Digest
    """What the name stands for: of the index where there is one."""
    own_digest: Digest
    media_type: str
    body: bytes
    content: ImageManifest


class RemoteImage(NamedTuple):
    """An image as a registry has it, all but its layers."""

    reference: Reference
    endpoint: Endpoint
    manifest: Manifest
    config: bytes

    @property
    def layers(self) -> tuple[Descriptor, ...]:
        return self.manifest.content.layers


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
        for digest in {manifest.own_digest, manifest.content.config.digest, *(layer.digest for layer in image.layers)}:
            (directory / digest.blob).parent.mkdir(parents=True, exist_ok=True)
        for layer in dict.fromkeys(image.layers):
            self.fetch(image, layer, directory / layer.digest.blob)
        (directory / manifest.content.config.digest.blob).write_bytes(image.config)
        (directory / manifest.own_digest.blob).write_bytes(manifest.body)
        described = {
            "mediaType": manifest.media_type,
            "digest": manifest.own_digest,
            "size": len(manifest.body),
            "platform": {"architecture": architecture, "os": "linux"},
            "annotations": {"io.containerd.image.name": name or str(reference), "org.opencontainers.image.ref.name": reference.tag},
        }
        (directory / "index.json").write_text(json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [described]}))
        (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        return manifest

    def describe(self, reference: Reference, architecture: str) -> RemoteImage:
        """Everything that is to be known of an image before its layers are fetched."""
        endpoint, manifest = self.resolve(reference, architecture)
        wanted = manifest.content.config.digest
        url = f"{self._base(endpoint)}/v2/{reference.repository}/blobs/{wanted}"
        try:
            config, _ = self._authorized(endpoint, reference, lambda access: self.web.read(url, headers=access, limit=DOCUMENT_BYTES))
        except Reason as reason:
            raise _about_image(reference, endpoint, reason) from reason
        if not wanted.fits(config):
            raise Reason("INET_BAD_CHECKSUM", f"{endpoint.host} sends a configuration of {reference} that is not the one it should be")
        _check_architecture(reference, config, architecture)
        return RemoteImage(reference, endpoint, manifest, config)

    def fetch(self, image: RemoteImage, layer: Descriptor, target: Path) -> None:
        """One layer into a file."""
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
        body, media_type, content = self._document(endpoint, reference, reference.digest or reference.tag)
        digest = own = Digest(reference.digest) if reference.digest else digest_of(body)
        if not isinstance(content, ImageManifest):
            own = _for_architecture(reference, content, architecture)
            body, media_type, content = self._document(endpoint, reference, own)
        if not isinstance(content, ImageManifest):
            raise _no_description(endpoint, reference, "an index that leads to another index")
        return Manifest(digest, own, content.media_type or media_type, body, content)

    def _document(self, endpoint: Endpoint, reference: Reference, wanted: str) -> tuple[bytes, str, tuple[IndexEntry, ...] | ImageManifest]:
        """What a registry has under a tag or digest, and what it says that is."""
        url = f"{self._base(endpoint)}/v2/{reference.repository}/manifests/{wanted}"
        try:
            body, headers = self._authorized(
                endpoint, reference, lambda access: self.web.read(url, headers={**_ACCEPT, **access}, limit=DOCUMENT_BYTES)
            )
        except Reason as reason:
            raise _about_image(reference, endpoint, reason) from reason
        try:
            claimed = wanted if ":" in wanted else headers.get("Docker-Content-Digest", "")
            if claimed and not Digest(claimed).fits(body):
                raise Reason("INET_BAD_CHECKSUM", f"{endpoint.host} sends a description of {reference} that is not the one it should be")
            content = read_document(body)
        except (NotADigest, NotADocument) as error:
            raise _no_description(endpoint, reference, str(error)) from None
        forms = MANIFESTS if isinstance(content, ImageManifest) else INDEXES
        media_type = headers.get("Content-Type", "").partition(";")[0].strip() or forms[0]
        if media_type not in forms:
            raise _no_description(endpoint, reference, f"{media_type[:100]!r}")
        return body, media_type, content

    def _blob(self, endpoint: Endpoint, reference: Reference, blob: Descriptor, target: Path) -> None:
        url = f"{self._base(endpoint)}/v2/{reference.repository}/blobs/{blob.digest}"
        label = f"image {reference.repository.rpartition('/')[2]}:{reference.tag}" if blob.size >= _WORTH_SHOWING else ""

        def fetch(access: Mapping[str, str]) -> None:
            self.downloads.fetch(Wanted((url,), blob.digest, label, blob.size, access), target)

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
        if not is_address(url):
            raise Reason("INET_DOWNLOAD_FAILED", f"{endpoint.host} names {url[:100]!r} as the place that gives out tokens")
        if own and urlsplit(url).scheme != "https" and not endpoint.insecure:
            raise Reason(
                "INET_DOWNLOAD_FAILED", f"{endpoint.host} wants the login for it sent to {url[:100]!r}, where anybody could read it"
            )
        body, _ = self.web.read(url, headers={"Authorization": f"Basic {own}"} if own else {}, limit=_ANSWER_BYTES)
        try:
            answer = decoded(body, dict[str, Any])
        except NotADocument:
            answer = {}
        token = answer.get("token") or answer.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise Reason("INET_NOT_ALLOWED", f"{urlsplit(url).hostname} gives out no token for {reference}")
        return f"Bearer {token}"

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


def _for_architecture(reference: Reference, index: Sequence[IndexEntry], architecture: str) -> Digest:
    for entry in index:
        if (entry.system, entry.architecture) == ("linux", architecture):
            return entry.digest
    offered = [f"{entry.system}/{entry.architecture}"[:40] for entry in index[:20]]
    raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is not there for linux/{architecture}, only for {', '.join(offered) or 'nothing'}")


def _check_architecture(reference: Reference, config: bytes, architecture: str) -> None:
    try:
        found = read_config(config).architecture or architecture
    except NotADocument:
        raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is something else than an image of containers") from None
    if found != architecture:
        raise Reason("INET_IMAGE_NOT_FOUND", f"{reference} is there for {found[:40]} only, and this machine is {architecture}")


def _no_description(endpoint: Endpoint, reference: Reference, what: str) -> Reason:
    return Reason("INET_BAD_CHECKSUM", f"{endpoint.host} sends something that is no description of {reference}: {what}")


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
