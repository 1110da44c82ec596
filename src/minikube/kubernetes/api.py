"""The cluster's API over one kept-open TLS connection. urllib3's exceptions end here."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:  # it takes 30 ms to import: loaded while a node starts, not before
    import urllib3

Object = dict[str, Any]

# kind -> (plural, namespaced): the kinds we make ourselves.
KINDS = {
    "ClusterRole": ("clusterroles", False),
    "ClusterRoleBinding": ("clusterrolebindings", False),
    "ConfigMap": ("configmaps", True),
    "ControllerRevision": ("controllerrevisions", True),
    "DaemonSet": ("daemonsets", True),
    "Deployment": ("deployments", True),
    "IPAddress": ("ipaddresses", False),
    "Namespace": ("namespaces", False),
    "NetworkPolicy": ("networkpolicies", True),
    "Node": ("nodes", False),
    "Pod": ("pods", True),
    "ReplicaSet": ("replicasets", True),
    "Role": ("roles", True),
    "RoleBinding": ("rolebindings", True),
    "Secret": ("secrets", True),
    "Service": ("services", True),
    "ServiceAccount": ("serviceaccounts", True),
    "StorageClass": ("storageclasses", False),
    "ValidatingAdmissionPolicy": ("validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": ("validatingadmissionpolicybindings", False),
}

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
FIELD_MANAGER = "minikube"

# Root in a node has the API server's key: what answers is a stranger.
MOST_BYTES = 64 << 20  # of an answer
LONGEST_LINE = 8 << 20  # of a watch: one object, of which etcd takes 1.5 MiB
_PIECE = 1 << 16


class ApiUnreachable(Exception):
    """Nobody answers, or not with the certificate we expect."""


class ApiError(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message or reason or f"HTTP {status}")
        self.status, self.reason = status, reason


class Api:
    """A client of one API server. Not for use by two threads at once."""

    def __init__(self, server: str, *, authority: Path, certificate: Path, key: Path, timeout: float = 30.0) -> None:
        import urllib3

        from minikube.kubernetes.timedsocket import TimedSocket

        context = urllib3.util.create_urllib3_context()
        context.sslsocket_class = TimedSocket
        url = urllib3.util.parse_url(server)
        self._timeout = timeout
        self._pool = urllib3.HTTPSConnectionPool(
            url.host or "",
            url.port or 443,
            maxsize=2,
            ssl_context=context,
            ca_certs=str(authority),
            cert_file=str(certificate),
            key_file=str(key),
            cert_reqs="CERT_REQUIRED",
            retries=False,
        )

    def close(self) -> None:
        self._pool.close()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str) -> Object:
        return self._json("GET", path)

    def text(self, path: str) -> str:
        """An answer that is not JSON."""
        status, data = self._answer("GET", path)
        if status >= 400:
            raise _error(status, data)
        return data.decode()

    def find(self, path: str) -> Object | None:
        """The object, or None if there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path: str, **query: str) -> list[Object]:
        items: list[Object] = self._json("GET", _with_query(path, query)).get("items") or []
        return items

    def create(self, obj: Object) -> Object:
        return self._json("POST", collection_path(obj), obj)

    def apply(self, obj: Object) -> Object:
        """Server-side apply: create or change, owning just the fields given."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._json("PATCH", _with_query(object_path(obj), query), obj, content_type=APPLY_PATCH)

    def patch(self, path: str, change: Object, *, content_type: str = MERGE_PATCH) -> Object:
        return self._json("PATCH", path, change, content_type=content_type)

    def delete(self, path: str) -> None:
        """Remove an object; fine if it is already gone."""
        try:
            self._json("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def create_all(self, objects: Iterable[Object]) -> None:
        """Create each object; one that is there already is brought to what is asked, keeping what others added to it."""
        for obj in objects:
            try:
                self.create(obj)
            except ApiError as error:
                # A service with a fixed address is refused as invalid, its address being taken by itself, instead of as existing.
                if error.status not in (409, 422) or self.find(object_path(obj)) is None:
                    raise
                self.apply(obj)

    def is_ready(self, path: str = "/readyz") -> bool:
        """Whether the path answers 200 right now; short timeouts, no exception."""
        try:
            status, _ = self._answer("GET", path, connect=0.5, read=5.0)
        except ApiUnreachable:
            return False
        return status == 200

    def wait_ready(self, path: str = "/readyz", *, deadline: float, interval: float = 0.03) -> bool:
        """Ask until the path answers 200; False once time.monotonic() has passed the deadline."""
        while not self.is_ready(path):
            if time.monotonic() >= deadline:
                return False
            time.sleep(interval)
        return True

    def watch(self, path: str, *, deadline: float, **query: str) -> Iterator[tuple[str, Object]]:
        """(type, object) for what exists (ADDED), then for every change. Ends at the deadline, or when the server ends it."""
        from urllib3.exceptions import HTTPError

        seconds = max(1, int(deadline - time.monotonic()) + 1)
        query = {"watch": "true", "timeoutSeconds": str(seconds), **query}
        response = self._request("GET", _with_query(path, query), read=seconds + 5.0)
        try:
            if response.status >= 400:
                raise _error(response.status, _whole(response))
            for line in _lines(response):
                event = msgspec.json.decode(line)
                if event.get("type") == "ERROR":  # "resource version too old": the caller asks anew
                    return
                yield event["type"], event["object"]
        except (HTTPError, OSError, msgspec.DecodeError) as error:
            raise ApiUnreachable(str(error)) from error
        finally:
            response.close()

    def _json(self, method: str, path: str, body: Object | None = None, *, content_type: str = "application/json") -> Object:
        data = None if body is None else msgspec.json.encode(body)
        status, answer = self._answer(method, path, body=data, content_type=content_type)
        if status >= 400:
            raise _error(status, answer)
        try:
            decoded: Object = msgspec.json.decode(answer)
        except msgspec.DecodeError as error:
            raise ApiError(status, "NotJSON", f"{path} did not answer with JSON") from error
        return decoded

    def _answer(self, method: str, path: str, **how: Any) -> tuple[int, bytes]:
        """Status and content. The connection is kept if the answer was read to its end."""
        from urllib3.exceptions import HTTPError

        response = self._request(method, path, **how)
        try:
            return response.status, _whole(response)
        except (HTTPError, OSError) as error:
            raise ApiUnreachable(str(error)) from error
        finally:
            response.close()

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = "application/json",
        connect: float = 5.0,
        read: float = 0.0,
    ) -> urllib3.BaseHTTPResponse:
        from urllib3 import Timeout
        from urllib3.exceptions import HTTPError

        headers = {"Accept": "application/json", "User-Agent": "minikube"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            return self._pool.urlopen(
                method,
                path,
                body=body,
                headers=headers,
                timeout=Timeout(connect=connect, read=read or self._timeout),
                preload_content=False,
                decode_content=False,  # no compressed answer is asked for
                retries=False,
                redirect=False,
            )
        except (HTTPError, OSError) as error:
            raise ApiUnreachable(str(error)) from error


def collection_path(obj: Object) -> str:
    """Where objects of this kind and namespace are."""
    plural, namespaced = KINDS[obj["kind"]]
    group = obj["apiVersion"]
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    namespace = f"/namespaces/{obj['metadata'].get('namespace', 'default')}" if namespaced else ""
    return f"{root}{namespace}/{plural}"


def object_path(obj: Object) -> str:
    return f"{collection_path(obj)}/{obj['metadata']['name']}"


def _with_query(path: str, query: dict[str, str]) -> str:
    from urllib.parse import urlencode

    return f"{path}?{urlencode(query)}" if query else path


def _pieces(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """As they come. `stream` of older urllib3 has no limit for the lines between them."""
    while piece := response.read1(_PIECE):
        yield piece


def _whole(response: urllib3.BaseHTTPResponse) -> bytes:
    data = bytearray()
    for piece in _pieces(response):
        data += piece
        if len(data) > MOST_BYTES:
            raise ApiUnreachable("the API server's answer is too large")
    return bytes(data)


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytearray]:
    pending = bytearray()
    for piece in _pieces(response):
        pending += piece
        if b"\n" in piece:
            *whole, pending = pending.split(b"\n")
            yield from (line for line in whole if line)
        if len(pending) > LONGEST_LINE:
            raise ApiUnreachable("a line of the API server's answer is too long")


def _error(status: int, data: bytes) -> ApiError:
    try:
        answer = msgspec.json.decode(data)
    except msgspec.DecodeError:
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    return ApiError(status, str(answer.get("reason", "")), str(answer.get("message", "")) or data[:300].decode(errors="replace"))
