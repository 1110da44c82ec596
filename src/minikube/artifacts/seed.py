"""What every new cluster of a Kubernetes version has in its database before anybody used it.

An API server that starts on an empty etcd creates some two hundred objects one by one (roles, bindings, priority classes …), and the
controller manager a service account for each controller: seconds in which the cluster is of no use. They are the same in every cluster but
for their identity and age. Here they are made once, by a real API server and a real controller manager, and kept.

These programs may come from images of others. They run in a sandbox, which nobody on this machine can reach, and what comes out is checked.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikube.output.reason import Reason

if TYPE_CHECKING:  # every start imports this module, and few make a seed
    import socket

    from minikube.host.sandbox import Sandbox

SEED = "seed.json"

# Everything that depends on neither keys, addresses nor names of a cluster.
PREFIXES = (
    *("clusterroles", "clusterrolebindings", "roles", "rolebindings", "priorityclasses", "namespaces", "serviceaccounts"),
    *("flowschemas", "prioritylevelconfigurations", "apiregistration.k8s.io/apiservices"),
)

_PATIENCE_SECONDS = 90
_LARGEST_ANSWER = 16 << 20
# In a network of their own.
_ETCD, _PEERS, _API, _MANAGER = 2379, 2380, 6443, 10257


def build_seed(destination: Path, *, etcd: Path, api_server: Sequence[str], controller_manager: Sequence[str]) -> None:
    """Fill an empty directory with `seed.json`: keys and values as etcd has them. The programs are given as their first words."""
    import secrets

    from minikube.artifacts.seedcheck import check_seed
    from minikube.host.sandbox import sandbox

    with sandbox(seconds=_PATIENCE_SECONDS + 30) as box:
        token = secrets.token_hex(32)
        _write_credentials(box, token)
        made = _Making(box)
        made.start([str(etcd), *_etcd()])
        made.start([*api_server, *_api_server()])
        made.wait(lambda: _ready(box, token), "the API server")
        made.start([*controller_manager, *_controller_manager()])
        made.wait(lambda: _settled(box), "the controller manager")
        pairs = [pair for prefix in PREFIXES for pair in _range(box, f"/registry/{prefix}/")]
    check_seed(pairs)
    (destination / SEED).write_text(json.dumps(pairs) + "\n")


class _Making:
    """The programs that were started, and what they say if nothing comes of it."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self._started: dict[str, int] = {}

    def start(self, argv: Sequence[str]) -> None:
        self._started[" ".join(Path(word).name for word in argv[:2])] = self._box.start(Path(argv[0]), argv[1:])

    def wait(self, check: Callable[[], bool], what: str) -> None:
        from http.client import HTTPException

        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with contextlib.suppress(OSError, ValueError, HTTPException):
                if check():
                    return
            found = {name: self._look_at(number) for name, number in self._started.items()}
            ended = [name for name, (code, _) in found.items() if code is not None]
            if ended or time.monotonic() > deadline:
                words = "\n".join(said[-1000:] for _, said in found.values())
                how = f"{ended[0]} ended" if ended else "it took too long"
                raise Reason("RUNTIME_CACHE", f"the first content of a cluster could not be made: {what} did not come up ({how})\n{words}")
            time.sleep(0.05)

    def _look_at(self, process: int) -> tuple[int | None, str]:
        try:
            return self._box.look_at(process)
        except OSError as error:
            return -9, str(error)


def _etcd() -> list[str]:
    client, peer = f"http://127.0.0.1:{_ETCD}", f"http://127.0.0.1:{_PEERS}"
    return [
        *("--data-dir=/etcd", "--unsafe-no-fsync", "--log-level=error", "--name=seed"),
        *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=seed={peer}"),
    ]


def _api_server() -> list[str]:
    return [
        # An address for documentation: the API server wants one to tell others, and nobody hears of it.
        *("--bind-address=127.0.0.1", f"--secure-port={_API}", "--cert-dir=/certs", "--advertise-address=192.0.2.1"),
        *(f"--etcd-servers=http://127.0.0.1:{_ETCD}", "--service-cluster-ip-range=10.96.0.0/12", "--authorization-mode=Node,RBAC"),
        *("--token-auth-file=/tokens.csv", "--service-account-key-file=/account.key", "--service-account-signing-key-file=/account.key"),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    ]


def _controller_manager() -> list[str]:
    return [
        *("--kubeconfig=/manager.json", "--leader-elect=false"),
        *("--use-service-account-credentials=true", "--service-account-private-key-file=/account.key"),
        *(f"--secure-port={_MANAGER}", "--bind-address=127.0.0.1", "--cert-dir=/certs-manager"),
        *("--kube-api-qps=1000", "--kube-api-burst=2000", "--controllers=*,bootstrap-signer-controller,token-cleaner-controller"),
    ]


def _write_credentials(box: Sandbox, admin_token: str) -> None:
    import secrets

    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, manager_token = ec.generate_private_key(ec.SECP256R1()), secrets.token_hex(32)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    box.write("account.key", pem.decode())
    box.write("tokens.csv", f'{admin_token},admin,1,"system:masters"\n{manager_token},system:kube-controller-manager,2,""\n')
    named = {"name": "seed"}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [named | {"cluster": {"server": f"https://127.0.0.1:{_API}", "insecure-skip-tls-verify": True}}],
        "users": [named | {"user": {"token": manager_token}}],
        "contexts": [named | {"context": {"cluster": "seed", "user": "seed"}}],
        "current-context": "seed",
    }
    box.write("manager.json", json.dumps(kubeconfig))


def _ready(box: Sandbox, token: str) -> bool:
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nobody else is in that network
    with context.wrap_socket(_connected(box, _API)) as stream:
        return _asked(stream, "GET", "/readyz", headers={"Authorization": f"Bearer {token}"}) == b"ok"


def _settled(box: Sandbox, *, quiet: float = 1.0) -> bool:
    """Whether every controller has its account: there are some, and none has come for a while."""
    before = len(_range(box, "/registry/serviceaccounts/"))
    time.sleep(quiet)
    return before > 30 and before == len(_range(box, "/registry/serviceaccounts/"))


def _range(box: Sandbox, prefix: str) -> list[dict[str, str]]:
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    question = {"key": base64.b64encode(prefix.encode()).decode(), "range_end": base64.b64encode(end.encode()).decode()}
    with _connected(box, _ETCD) as stream:
        found: list[dict[str, Any]] = json.loads(_asked(stream, "POST", "/v3/kv/range", body=json.dumps(question).encode())).get("kvs", [])
    return [{"key": pair["key"], "value": pair["value"]} for pair in found]


def _connected(box: Sandbox, port: int) -> socket.socket:
    stream = box.connect(port)
    stream.settimeout(10)
    return stream


def _asked(stream: socket.socket, method: str, path: str, *, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    """The answer of an HTTP server at the other end of a socket."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1")
    connection.sock = stream
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    content = answer.read(_LARGEST_ANSWER + 1)
    if answer.status != 200 or len(content) > _LARGEST_ANSWER:
        raise OSError(None, f"HTTP {answer.status}, {len(content)} bytes")
    return content
