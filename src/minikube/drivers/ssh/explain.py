"""What OpenSSH's words mean for the person at the keyboard."""

from __future__ import annotations

from minikube.drivers.ssh.target import Target
from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from pathlib import Path

ID = "IF_SSH_CLIENT"


def refused(target: Target, words: str, known_hosts: Path) -> Reason:
    """The reason why no connection came about."""
    text = words.lower()
    if "host identification has changed" in text or "host key verification failed" in text:
        return Reason(
            ID,
            f"{target.address} shows another host key than on its first use: another machine answers there, or it was installed anew",
            advice=f"Make sure that it is the machine you mean. If it is, forget the old key: rm '{known_hosts}'",
        )
    if "permission denied" in text or "too many authentication failures" in text:
        with_key = f" with the key {target.key}" if target.key else ""
        return Reason(
            ID,
            f"{target.address} does not let the user {target.user} in{with_key}",
            advice=f"Try it by hand: {by_hand(target)}. --ssh-user and --ssh-key choose the user and the key; a key with a passphrase "
            "has to be in your agent (ssh-add).",
        )
    if "could not resolve" in text:
        return Reason("MK_USAGE", f"The name {target.address} does not resolve", advice="Check --ssh-ip-address.")
    if "unprotected private key" in text or "bad permissions" in text:
        return Reason(ID, f"ssh does not use the key {target.key}: others may read it", advice=f"chmod 600 '{target.key}'")
    for sign in ("connection refused", "timed out", "no route to host", "network is unreachable", "connection closed", "connection reset"):
        if sign in text:
            return unreachable(target, sign)
    return Reason(ID, f"No SSH connection to {target}: {words.strip()[-1000:] or 'ssh gives no reason'}", advice=f"Try: {by_hand(target)}")


def unreachable(target: Target, why: str) -> Reason:
    return Reason(
        ID,
        f"The machine {target.address} cannot be reached on port {target.port}: {why}",
        advice=f"See that it is switched on and runs an SSH server. Try it by hand: {by_hand(target)}",
    )


def no_forwarding(target: Target) -> Reason:
    return Reason(
        "DRV_PORT_FORWARD",
        f"The SSH server on {target.address} does not forward ports, and that is how the cluster's API server is reached from this host",
        advice="Allow it there: AllowTcpForwarding yes (or local) in /etc/ssh/sshd_config, and no PermitOpen; then reload its SSH server.",
    )


def no_client() -> Reason:
    return Reason(
        "PROVIDER_SSH_NOT_FOUND",
        "OpenSSH's client (ssh) is not installed on this host",
        advice="Install it (Debian and Ubuntu: apt-get install openssh-client), then run the command again.",
        exit_code=65,
    )


def by_hand(target: Target) -> str:
    key = f" -i '{target.key}'" if target.key else ""
    port = f" -p {target.port}" if target.port != 22 else ""
    return f"ssh{key}{port} {target.user}@{target.address}"
