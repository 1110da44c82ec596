"""Images of registries, with the user's own logins there.

`pull` and `push` are the node's doing, which knows the cluster's mirrors and stands where its pods stand; `load` fetches on this machine,
which knows its user's proxies, and brings into the node what that lacks.
"""

from __future__ import annotations

import re

from minikube.artifacts import remoteimages
from minikube.artifacts.imagereference import Reference, taken_apart
from minikube.artifacts.origin import Origin
from minikube.artifacts.registry import is_insecure
from minikube.artifacts.registrylogin import credentials
from minikube.cluster.imageloading import Loaded, load_images, said
from minikube.drivers.base import Node
from minikube.output.progress import silent
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.runtimes import images as runtime
from minikube.runtimes import registryhosts

PATIENCE = 3600.0  # seconds for an image on its way between a registry and the node
_NOT_TLS = "server gave HTTP response to HTTPS client"
_NOT_ALLOWED = re.compile(r"\b40[13]\b|unauthorized|authorization failed|access denied|no basic auth|insufficient_scope", re.IGNORECASE)
_NAMES = "Names look like this: registry.example/team/app:1.2"


def reference(text: str, id: str) -> Reference:
    """The image a user means; a reason with this id if that is none."""
    try:
        return taken_apart(text)
    except ValueError as error:
        raise Reason(id, str(error), advice=_NAMES) from None


def pull(node: Node, name: str, id: str, origin: Origin, report: Report) -> None:
    """The node gets the image from its registry."""
    image = reference(name, id)
    login = credentials(image.registry)
    command = runtime.pull_with_login_command(str(image)) if login else runtime.pull_command(str(image))
    with report.progress.task(f"pulling {image}"):
        answer = node.run(command, input=f"{login}\n".encode() if login else None, timeout=PATIENCE)
    if answer.code:
        why = said(answer.stderr)
        if _NOT_TLS in why and is_insecure(image.registry, origin.insecure_registries):
            # What it was told without TLS, which is the second thing it tries, the node keeps to itself.
            why = _told_here(name, origin) or why
        raise _explained(image, id, f"Failed to pull image {name}", why)


def push(node: Node, name: str, origin: Origin, report: Report) -> None:
    """The node sends the image to its registry."""
    image = reference(name, "GUEST_IMAGE_PUSH")
    insecure = is_insecure(image.registry, origin.insecure_registries)
    why = ""
    with report.progress.task(f"pushing {image}"):
        for hosts in registryhosts.for_push(image.registry, credentials(image.registry), insecure=insecure):
            answer = node.run(runtime.push_command(str(image), image.registry), input=hosts.encode(), timeout=PATIENCE)
            if not answer.code:
                return
            why = said(answer.stderr)
            if _NOT_TLS not in why:
                break
    raise _explained(image, "GUEST_IMAGE_PUSH", f"Failed to push image {name}", why)


def load(node: Node, name: str, origin: Origin, report: Report, *, overwrite: bool) -> Loaded:
    """Fetch what the node lacks of an image, and bring it there."""
    reference(name, "GUEST_IMAGE_LOAD")
    try:
        with remoteimages.looked_up(name, origin, report.progress) as remote:
            return load_images(node, [remote.image], report.progress, name, overwrite=overwrite, fetch=remote.fetch)
    except Reason as reason:
        if reason.id.startswith("INET_"):
            raise Reason("GUEST_IMAGE_LOAD", f"Failed to load image {name}: {reason.message}", advice=reason.advice) from reason
        raise


def not_whole(why: str, id: str, what: str) -> Reason:
    """Layers that came with the cluster are kept unpacked only, which is all that running them takes."""
    if "content digest" not in why or "not found" not in why:
        return Reason(id, f"{what}: {why}")
    return Reason(
        id,
        f"{what}: it stands on layers that came with the cluster, and the cluster keeps those unpacked only",
        advice="Take the image from where it was built, or pull it again: minikube image rm, then minikube image pull.",
    )


def _told_here(name: str, origin: Origin) -> str:
    """What a registry says to this machine, if it does not give out the image here either."""
    try:
        with remoteimages.looked_up(name, origin, silent()):
            return ""
    except Reason as reason:
        return {"INET_NOT_ALLOWED": "unauthorized", "INET_IMAGE_NOT_FOUND": "not found"}.get(reason.id, reason.message)


def _explained(image: Reference, id: str, what: str, why: str) -> Reason:
    """What went wrong between a node and a registry, and what to do about it."""
    host = image.registry
    if _NOT_TLS in why:
        advice = f"If that is as it should be, allow it: minikube start --insecure-registry={host}"
        return Reason(id, f"{what}: {host} does not speak HTTPS", advice=advice)
    if "x509:" in why or "tls: failed to verify certificate" in why:
        advice = f"Put the authority's certificate into ~/.minikube/certs and run minikube start, or allow any: --insecure-registry={host}"
        return Reason(id, f"{what}: {host} shows a certificate that the node does not trust ({why.rpartition('x509: ')[2]})", advice=advice)
    if _NOT_ALLOWED.search(why):
        advice = f"Log in, or as somebody who may: docker login {host} (podman login serves as well)."
        login = "with the login that is known here" if credentials(host) else "without a login"
        return Reason(id, f"{what}: {host} does not allow it {login}", advice=advice)
    if "content digest" in why:
        return not_whole(why, id, what)
    if re.search(r"not found|manifest unknown|name unknown", why, re.IGNORECASE):
        there = "minikube image ls" if id == "GUEST_IMAGE_PUSH" else "Check its name and tag."
        return Reason(id, f"{what}: there is no image {image}", advice=there)
    if re.search(r"connection refused|no route to host|i/o timeout|no such host|deadline exceeded", why):
        advice = f"The node asks it itself, so {host} must be reachable from there."
        if (port := host.rpartition(":")[2]).isdigit():
            advice += f" If it is on this machine, open its port: minikube start --host-access={port}"
        if id != "GUEST_IMAGE_PUSH":
            advice += f" minikube image load {image} asks from this machine."
        return Reason(id, f"{what}: {host} cannot be reached from the node ({why.rpartition(': ')[2]})", advice=advice)
    return Reason(id, f"{what}: {why}")
