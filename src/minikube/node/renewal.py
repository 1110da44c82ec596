# ruff: noqa: PTH123, PTH118
"""Renew the certificates of a running control plane before they expire. The supervisor runs this in the node, every hour.

    python3 -I -S renewal.py <certificates' directory> <directory of the components' kubeconfigs> <lifetime in seconds>

`start` makes and renews certificates from outside; this is for clusters that nobody starts again for years, or that slept for months.
Keys, names and uses stay as they are. API server, etcd and kubelet read their files anew by themselves; controller manager and scheduler
do not, so they are ended, and the kubelet starts them again. The kubelet renews its own client certificate. Standard library and openssl.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time

MOST_MARGIN = 30 * 86400.0
BACKDATE = 3600.0
CONFS = {"admin.conf": "", "super-admin.conf": "", "controller-manager.conf": "kube-controller", "scheduler.conf": "kube-scheduler"}
LEAVES = {
    "apiserver": "ca",
    "apiserver-kubelet-client": "ca",
    "kubelet": "ca",
    "controllers/serving": "ca",
    "front-proxy-client": "front-proxy-ca",
    "apiserver-etcd-client": "etcd/ca",
    "etcd/server": "etcd/ca",
    "etcd/peer": "etcd/ca",
    "etcd/healthcheck-client": "etcd/ca",
}


def expires(certificate: str) -> float:
    """When the certificate in a file ends, in seconds since 1970."""
    return ssl.cert_time_to_seconds(ssl._ssl._test_decode_cert(certificate)["notAfter"])  # type: ignore[attr-defined]


def is_due(certificate: str, lifetime: float) -> bool:
    return expires(certificate) - time.time() <= min(MOST_MARGIN, lifetime / 3)


def renewed(certificate: str, key: str, authority: str, lifetime: float) -> bytes:
    """The same certificate with a new life, never outliving its authority."""
    end = min(time.time() + lifetime, expires(f"{authority}.crt"))
    if end <= time.time():
        raise ValueError(f"{authority}.crt has expired: `minikube start` makes a new authority")
    request = _openssl("x509", "-x509toreq", "-copy_extensions", "copyall", "-in", certificate, "-key", key)
    signer = ["-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-copy_extensions", "copyall"]
    return _openssl("x509", "-req", *signer, "-not_before", _stamp(time.time() - BACKDATE), "-not_after", _stamp(end), input=request)


def renew_file(directory: str, name: str, authority: str, lifetime: float) -> bool:
    certificate = f"{directory}/{name}.crt"
    if not is_due(certificate, lifetime):
        return False
    _replace(certificate, renewed(certificate, f"{directory}/{name}.key", f"{directory}/{authority}", lifetime), 0o644)
    return True


def renew_conf(path: str, authority: str, lifetime: float) -> bool:
    """The client certificate inside a kubeconfig."""
    with open(path) as stream:
        text = stream.read()
    with tempfile.TemporaryDirectory() as scratch:
        for field, name in (("client-certificate-data", "crt"), ("client-key-data", "key")):
            found = re.search(rf"{field}: *(\S+)", text)
            with open(os.path.join(scratch, f"client.{name}"), "wb") as stream_out:
                stream_out.write(base64.b64decode(found[1] if found else ""))
        if not is_due(f"{scratch}/client.crt", lifetime):
            return False
        fresh = renewed(f"{scratch}/client.crt", f"{scratch}/client.key", authority, lifetime)
    data = base64.b64encode(fresh).decode()
    _replace(path, re.sub(r"(client-certificate-data: *)\S+", rf"\g<1>{data}", text).encode(), 0o600)
    return True


def main(certificates: str, kubernetes: str, lifetime: float) -> None:
    for name, authority in LEAVES.items():
        _try(f"{name}.crt", lambda name=name, authority=authority: renew_file(certificates, name, authority, lifetime))
    for file, program in CONFS.items():
        done = _try(file, lambda file=file: renew_conf(f"{kubernetes}/{file}", f"{certificates}/ca", lifetime))
        if done and program:
            subprocess.run(["pkill", "-x", program], check=False)


def _try(what: str, renew: object) -> bool:
    """One that cannot be renewed must not keep the others from it."""
    try:
        done = bool(renew())  # type: ignore[operator]
    except (OSError, ValueError, ssl.SSLError, subprocess.CalledProcessError) as error:
        why = error.stderr.decode(errors="replace").strip() if isinstance(error, subprocess.CalledProcessError) else error
        print(f"{what} could not be renewed: {why}", flush=True)
        return False
    if done:
        print(f"{what} renewed", flush=True)
    return done


def _openssl(*words: str, input: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *words], input=input, capture_output=True, check=True).stdout


def _stamp(moment: float) -> str:
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(moment))


def _replace(path: str, data: bytes, mode: int) -> None:
    """Whole or not at all, also after a crash."""
    descriptor = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
    os.replace(f"{path}.new", path)  # noqa: PTH105


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
