"""The last words of a node's programs, for finding out why a start failed."""

from __future__ import annotations

from minikube.drivers.base import Driver
from minikube.output.debuglog import debug

# Each of them, and of the two containers everything else waits for.
_LAST_WORDS = (
    "for file in /var/log/minikube/*.log"
    " $(ls -t /var/log/pods/kube-system_etcd-*/etcd/*.log 2>/dev/null | head -n 2)"
    " $(ls -t /var/log/pods/kube-system_kube-apiserver-*/kube-apiserver/*.log 2>/dev/null | head -n 2);"
    ' do tail -c 8000 "$file"; echo; done'
)


def last_words(driver: Driver) -> str:
    """Empty if the node says nothing: this must never hide the failure it is to explain."""
    try:
        return driver.node().run(["/bin/sh", "-c", _LAST_WORDS], timeout=10).stdout.decode(errors="replace")
    except Exception as error:
        debug(f"no logs of the node: {error!r}")
        return ""
