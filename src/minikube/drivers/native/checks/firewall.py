"""The firewall: ours, tried where nobody is disturbed, and others that may drop what a node sends."""

from __future__ import annotations

import json
from ipaddress import IPv4Network

from minikube.drivers.checks import Finding, Ground, doubtful, fine, lacking
from minikube.host.modules import ABSENT, LOADABLE, availability
from minikube.host.process import TIMED_OUT, ProcessFailed, in_network_of_its_own, run
from minikube.network import firewall
from minikube.network.tools import NetworkTools

MODULES = ("nf_tables", "nft_masq", "nft_ct", "nft_fib_inet", "nft_reject_inet")
_PROBE = "mk-probe"


def nftables(ground: Ground) -> Finding:
    absent = [name for name in MODULES if availability(ground.root, ground.kernel, name) == ABSENT]
    if absent:
        return lacking(
            f"this kernel lacks {', '.join(absent)}",
            f"Install the kernel's module package (linux-modules-extra-{ground.kernel} on Ubuntu), or use another kernel.",
        )
    if any(availability(ground.root, ground.kernel, name) == LOADABLE for name in MODULES):
        return fine("loaded when it is needed")
    return fine("known to the kernel")


def tried(ground: Ground) -> Finding:
    """A bridge, a cable and a firewall table like a cluster's, in a network namespace that ends with the process that made them."""
    if ground.user != 0:
        return fine("not tried: that needs root")
    if any(availability(ground.root, ground.kernel, name) == LOADABLE for name in ("bridge", "veth", *MODULES)):
        return fine("not tried: it would load kernel modules, which the first start does")
    tools = _tools(ground)
    if tools is None:
        return fine("not tried: the tools for it are not in the store yet")
    script = f"link add {_PROBE} type bridge\nlink add {_PROBE}-1 type veth peer name {_PROBE}-2\n"
    tables = firewall.tables(_PROBE, IPv4Network("192.0.2.0/24"), firewall.Access(host=("80",)), nodes=["192.0.2.2"], closes_routes=True)
    for program, words, input in (("ip", ("-batch", "-"), script), ("nft", ("-f", "-"), tables)):
        try:
            run(in_network_of_its_own(tools.argv(program, *words)), input=input.encode(), timeout=10)
        except ProcessFailed as failed:
            if failed.code == TIMED_OUT:
                return doubtful(f"not tried: {failed.output}", "Ask again when this machine is less busy.")
            return lacking(
                f"the kernel refuses: {failed.output.strip().splitlines()[-1] if failed.output.strip() else f'exit code {failed.code}'}",
                "Inside a container, run that container with --privileged; else use a kernel with bridge, veth and nf_tables.",
            )
    return fine("it works")


def others(ground: Ground) -> Finding:
    """Whoever says drop last has the last word: an accept of ours does not help against another table's policy."""
    tools = _tools(ground)
    if ground.user != 0 or tools is None or availability(ground.root, ground.kernel, "nf_tables") == LOADABLE:
        return fine("not looked at")
    try:
        listed = json.loads(run(tools.argv("nft", "-j", "list", "chains"), timeout=10).stdout or b"{}")
    except (ProcessFailed, ValueError):
        return fine("not looked at: nft does not say")
    chains = [entry["chain"] for entry in listed.get("nftables", []) if "chain" in entry]
    strict = [chain for chain in chains if chain.get("hook") == "forward" and chain.get("policy") == "drop"]
    if not strict:
        return fine("none that drops what nodes send")
    # docker's own place for rules of others: it never touches what is in there.
    place = "DOCKER-USER" if any(chain["name"] == "DOCKER-USER" for chain in chains) else "FORWARD"
    names = ", ".join(f"{chain['family']} {chain['table']} {chain['name']}" for chain in strict)
    return doubtful(
        f"{names} drops what is forwarded (docker's does): pods may not reach the outside",
        f'Run: sudo iptables -I {place} -i "mk-+" -j ACCEPT; sudo iptables -I {place} -o "mk-+" -j ACCEPT',
    )


def _tools(ground: Ground) -> NetworkTools | None:
    images = sorted(ground.store.glob("entries/node-image-*/content"))
    usable = next((image for image in reversed(images) if (image / "usr/sbin/nft").is_file()), None)
    return NetworkTools(usable) if usable else None
