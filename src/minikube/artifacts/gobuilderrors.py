"""What a failed `go` command means to the person at the keyboard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from minikube.output.reason import Reason

_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_CHECKSUM = re.compile(r"checksum mismatch|SECURITY ERROR")
_NETWORK = re.compile(
    r"dial tcp|connection refused|connection reset|no such host|i/o timeout|TLS handshake|proxyconnect|certificate signed by"
    r"|module lookup disabled|: reading https?://|Get \\?\"https?://|server response|network is unreachable|unexpected EOF"
)
_HOST = re.compile(r"(https?://[^/\s\"\\]+)")


def why_go_failed(label: str, said: Sequence[str], log: Path) -> Reason:
    """The reason for what Go wrote before it gave up."""
    text = "\n".join(said)
    if _FULL.search(text):
        return Reason(
            "RSRC_INSUFFICIENT_STORAGE",
            f"{label} could not be built: {telling_line(said, _FULL)}",
            advice="Free some space there, or set MINIKUBE_STORE to a directory on a larger file system, and run the command again: "
            "it goes on where it stopped.",
        )
    if _CHECKSUM.search(text):
        return Reason(
            "INET_CACHE_BINARIES",
            f"{label} could not be built: a downloaded module is not what its pinned checksum says: {telling_line(said, _CHECKSUM)}",
            advice=f"Set GOPROXY to a proxy you trust (https://proxy.golang.org) and run the command again. Details: {log}",
        )
    if _NETWORK.search(text):
        line = telling_line(said, _NETWORK)
        host = _HOST.search(line)
        where = f" from {host[1]}" if host else ""
        return Reason(
            "INET_CACHE_BINARIES",
            f"The modules of {label} could not be downloaded{where}: {line}",
            advice="Check the connection. Behind a proxy set HTTPS_PROXY; for another source of Go modules set GOPROXY (a URL). "
            f"What is downloaded already is kept. Details: {log}",
        )
    last = "\n".join(line for line in said if line.strip())[-1500:]
    return Reason("MK_COMPONENT_BUILD", f"{label} could not be compiled:\n{last}", advice=f"The whole output is in {log}.", exit_code=10)


def telling_line(said: Sequence[str], pattern: re.Pattern[str]) -> str:
    """The first line that says it, without the shell of JSON around it."""
    found = next((line for line in said if pattern.search(line)), "")
    error = re.search(r'"Error":\s*"(.*)"', found)
    return (error[1].replace('\\"', '"').replace("\\n\\t", ", ") if error else found).strip()
