"""What every new cluster of a Kubernetes version has in its database before anybody used it.

An API server that starts on an empty etcd creates some two hundred objects one by one (roles, bindings, priority classes …), and the
controller manager a service account for each controller: seconds in which the cluster is of no use. They are the same in every cluster but
for their identity and age. Here they are made once, by a real API server and a real controller manager, and kept.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikube.host.process import spawn, tied
from minikube.output.reason import Reason

if TYPE_CHECKING:  # every start imports this module, and few make a seed
    from urllib.request import BaseHandler, OpenerDirector

SEED = "seed.json"

# Everything that depends on neither keys, addresses nor names of a cluster.
PREFIXES = (
    *("clusterroles", "clusterrolebindings", "roles", "rolebindings", "priorityclasses", "namespaces", "serviceaccounts"),
    *("flowschemas", "prioritylevelconfigurations", "apiregistration.k8s.io/apiservices"),
)

_PATIENCE_SECONDS = 90
_ADMIN_TOKEN = "seed-administrator"  # noqa: S105 - for an API server that lives for seconds, on loopback, in a directory of ours
_MANAGER_TOKEN = "seed-controller-manager"  # noqa: S105


def build_seed(destination: Path, *, etcd: Path, api_server: Sequence[str], controller_manager: Sequence[str]) -> None:
    """Fill an empty directory with `seed.json`: keys and values as etcd has them. The programs are given as their first words."""
    with tempfile.TemporaryDirectory(prefix="minikube-seed-") as scratch:
        directory = Path(scratch)
        database, peers, api, manager = _free_ports(4)
        _write_credentials(directory, api)
        with contextlib.ExitStack() as running:
            for argv in (_etcd(etcd, directory, database, peers), _api_server(api_server, directory, api, database)):
                running.enter_context(_process(argv, directory))
            _wait(lambda: _get(f"https://127.0.0.1:{api}/readyz", directory) == b"ok", directory, "the API server")
            running.enter_context(_process(_controller_manager(controller_manager, directory, manager), directory))
            _wait(lambda: _settled(database), directory, "the controller manager")
            pairs = [pair for prefix in PREFIXES for pair in _range(database, f"/registry/{prefix}/")]
    (destination / SEED).write_text(json.dumps(pairs) + "\n")


def _etcd(binary: Path, directory: Path, port: int, peers: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return [
        *(str(binary), f"--data-dir={directory}/etcd", "--unsafe-no-fsync", "--log-level=error", "--name=seed"),
        *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=seed={peer}"),
    ]


def _api_server(program: Sequence[str], directory: Path, port: int, database: int) -> list[str]:
    return [
        *(*program, "--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={directory}/certs"),
        *(f"--etcd-servers=http://127.0.0.1:{database}", "--service-cluster-ip-range=10.96.0.0/12", "--authorization-mode=Node,RBAC"),
        *(f"--token-auth-file={directory}/tokens.csv", f"--service-account-key-file={directory}/account.key"),
        *(
            f"--service-account-signing-key-file={directory}/account.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        ),
    ]


def _controller_manager(program: Sequence[str], directory: Path, port: int) -> list[str]:
    return [
        *(*program, f"--kubeconfig={directory}/manager.json", "--leader-elect=false"),
        *("--use-service-account-credentials=true", f"--service-account-private-key-file={directory}/account.key"),
        *(f"--secure-port={port}", "--bind-address=127.0.0.1", f"--cert-dir={directory}/certs-manager"),
        *("--kube-api-qps=1000", "--kube-api-burst=2000", "--controllers=*,bootstrap-signer-controller,token-cleaner-controller"),
    ]


def _write_credentials(directory: Path, port: int) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    (directory / "account.key").write_bytes(pem)
    (directory / "tokens.csv").write_text(
        f'{_ADMIN_TOKEN},admin,1,"system:masters"\n{_MANAGER_TOKEN},system:kube-controller-manager,2,""\n'
    )
    named = {"name": "seed"}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [named | {"cluster": {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}}],
        "users": [named | {"user": {"token": _MANAGER_TOKEN}}],
        "contexts": [named | {"context": {"cluster": "seed", "user": "seed"}}],
        "current-context": "seed",
    }
    (directory / "manager.json").write_text(json.dumps(kubeconfig))


def _settled(database: int, *, quiet: float = 1.0) -> bool:
    """Whether every controller has its account: there are some, and none has come for a while."""
    before = len(_range(database, "/registry/serviceaccounts/"))
    time.sleep(quiet)
    return before > 30 and before == len(_range(database, "/registry/serviceaccounts/"))


def _range(database: int, prefix: str) -> list[dict[str, str]]:
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    question = {"key": base64.b64encode(prefix.encode()).decode(), "range_end": base64.b64encode(end.encode()).decode()}
    from urllib.request import Request

    request = Request(f"http://127.0.0.1:{database}/v3/kv/range", json.dumps(question).encode())
    with _opener().open(request, timeout=10) as answer:
        found: list[dict[str, Any]] = json.load(answer).get("kvs", [])
    return [{"key": pair["key"], "value": pair["value"]} for pair in found]


def _get(url: str, directory: Path) -> bytes:
    import ssl

    certificate = directory / "certs" / "apiserver.crt"  # made by the API server itself, self-signed, when it starts
    if not certificate.exists():
        raise OSError("not there yet")
    from urllib.request import HTTPSHandler, Request

    request = Request(url, headers={"Authorization": f"Bearer {_ADMIN_TOKEN}"})  # noqa: S310 - loopback
    context = ssl.create_default_context(cafile=str(certificate))
    with _opener(HTTPSHandler(context=context)).open(request, timeout=5) as answer:
        content: bytes = answer.read()
    return content


def _opener(*handlers: BaseHandler) -> OpenerDirector:
    from urllib.request import ProxyHandler, build_opener

    return build_opener(ProxyHandler({}), *handlers)  # loopback never goes through a proxy


def _wait(check: Any, directory: Path, what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        with contextlib.suppress(OSError, ValueError):
            if check():
                return
        if time.monotonic() > deadline:
            words = "\n".join(log.read_text(errors="replace")[-1000:] for log in sorted(directory.glob("*.log")))
            raise Reason("RUNTIME_CACHE", f"the first content of a cluster could not be made: {what} did not come up\n{words}")
        time.sleep(0.05)


@contextlib.contextmanager
def _process(argv: Sequence[str], directory: Path) -> Iterator[None]:
    with (directory / f"{Path(argv[0]).name}-{len(list(directory.glob('*.log')))}.log").open("wb") as log:
        process = spawn(tied(argv), stdout=log, stderr=log, env={"PATH": os.environ.get("PATH", ""), "HOME": str(directory)})
    try:
        yield
    finally:
        process.kill()  # nothing of it is kept
        process.wait()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
