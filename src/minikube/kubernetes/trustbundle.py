"""`~/.minikube/ca.crt`: the certificates of all authorities of this home, for scripts that verify any cluster's API server with it.

Each cluster has an authority of its own, in its profile. Only certificates are here: whoever has this file can check, and sign nothing.
A `ca.key` beside it is an earlier version's, upstream's or the user's own; the certificate that belongs to it is kept as the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minikube.host.files import cannot_write, write_durably
from minikube.profiles.locks import file_lock
from minikube.profiles.paths import home

_END = b"-----END CERTIFICATE-----\n"


@contextmanager
def locked() -> Iterator[None]:
    """While authorities of this home are made, or the bundle is written."""
    directory = home()
    with file_lock(directory / "locks" / "ca.lock", command="(certificate authority)", timeout=30, what=f"{directory}/ca.crt"):
        yield


def update() -> None:
    """Make it hold the certificates of the profiles that there are; under the lock."""
    directory = home()
    bundle = directory / "ca.crt"
    shared = [_first_certificate(bundle)] if (directory / "ca.key").exists() else []
    own = [_first_certificate(path) for path in sorted(directory.glob("profiles/*/ca.crt"))]
    text = b"".join(dict.fromkeys((*shared, *own)))
    try:
        if not text:
            bundle.unlink(missing_ok=True)
        elif not bundle.exists() or bundle.read_bytes() != text:
            write_durably(bundle, text)
    except OSError as error:
        raise cannot_write(bundle, error) from error


def _first_certificate(path: Path) -> bytes:
    try:
        text = path.read_bytes()
    except OSError:
        return b""
    first, end, _ = text.partition(_END)
    return first + end if end else b""
