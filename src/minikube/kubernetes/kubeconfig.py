"""The user's kubeconfig: our cluster, context and user are put in and taken out, everything else stays as it is.

The file is edited as a tree of YAML nodes, never as values: what we do not know is written back as it was read.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minikube.output.reason import Reason

if TYPE_CHECKING:
    import yaml

CONFIGURED = "Configured"
MISCONFIGURED = "Misconfigured"
# Thousands of clusters with their certificates. It also bounds how long a hostile one takes.
MOST_BYTES = 4 << 20


class Entry(NamedTuple):
    """How kubectl reaches one cluster."""

    profile: str
    server: str
    authority: Path
    certificate: Path
    key: Path
    version: str
    namespace: str = "default"
    embed: bool = False
    keep_context: bool = False


def path() -> Path:
    """The file kubectl would write to: the first of $KUBECONFIG that exists, else its first, else ~/.kube/config."""
    candidates = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not candidates:
        return Path.home() / ".kube" / "config"
    return next((candidate for candidate in candidates if candidate.exists()), candidates[0])


def merge(entry: Entry, *, file: Path | None = None) -> bool:
    """Put the cluster, its user and its context in; False if all was there already and nothing was written."""
    from minikube.kubernetes import kubeconfigtree as tree

    def change(root: yaml.MappingNode) -> bool:
        changed = False
        for section, name, content in _wanted(entry):
            changed |= tree.put_named(root, section, entry.profile, name, content)
        if not entry.keep_context:
            changed |= tree.put_scalar(root, "current-context", entry.profile)
        return changed

    return _edit(file or path(), change, create=True)


def require_usable(*, file: Path | None = None) -> None:
    """Refuse a kubeconfig that could not be changed later: start asks before it makes anything."""
    _edit(file or path(), lambda _root: False, create=True)


def remove(profile: str, *, then: str = "", file: Path | None = None) -> bool:
    """Take the cluster, its user and its context out. Where that context was the current one, `then` takes its place if it is there."""
    from minikube.kubernetes import kubeconfigtree as tree

    def change(root: yaml.MappingNode) -> bool:
        changed = False
        for section in ("clusters", "contexts", "users"):
            changed |= tree.drop_named(root, section, profile)
        if tree.scalar(root, "current-context") == profile:
            changed |= tree.put_scalar(root, "current-context", then if tree.find_named(root, "contexts", then) else "")
        return changed

    return _edit(file or path(), change, create=False)


def set_current_context(profile: str, *, file: Path | None = None) -> bool:
    """Make the profile's context the current one."""
    from minikube.kubernetes import kubeconfigtree as tree

    return _edit(file or path(), lambda root: tree.put_scalar(root, "current-context", profile), create=True)


def state(profile: str, server: str, *, file: Path | None = None) -> str:
    """`Configured` if kubectl's context of this profile leads to `server`, as `status` shows it."""
    return CONFIGURED if server and endpoint(profile, file=file) == server else MISCONFIGURED


def endpoint(profile: str, *, file: Path | None = None) -> str:
    """The server URL kubectl would use for this profile, empty if there is none or the file cannot be read."""
    from minikube.kubernetes import kubeconfigtree as tree

    root = _tree(file or path())
    if root is None:
        return ""
    context = tree.mapping(tree.find_named(root, "contexts", profile), "context")
    cluster = tree.find_named(root, "clusters", tree.scalar(context, "cluster"))
    return tree.scalar(tree.mapping(cluster, "cluster"), "server")


def current_context(*, file: Path | None = None) -> str:
    """The name of kubectl's current context, empty if there is none."""
    from minikube.kubernetes import kubeconfigtree as tree

    return tree.scalar(_tree(file or path()), "current-context")


def _wanted(entry: Entry) -> Iterator[tuple[str, str, dict[str, Any]]]:
    import base64

    def reference(key: str, file: Path) -> dict[str, str]:
        if not entry.embed:
            return {key: str(file)}
        try:
            return {f"{key}-data": base64.b64encode(file.read_bytes()).decode()}
        except OSError as error:
            raise Reason("HOST_KUBECONFIG_UPDATE", f"{file} cannot be read: {error.strerror}") from error

    stamp = time.strftime("%a, %d %b %Y %H:%M:%S %Z")
    extension = {"last-update": stamp, "provider": "minikube.sigs.k8s.io", "version": entry.version}
    cluster: dict[str, Any] = reference("certificate-authority", entry.authority)
    cluster["extensions"] = [{"extension": extension, "name": "cluster_info"}]
    cluster["server"] = entry.server
    yield "clusters", "cluster", cluster
    yield (
        "contexts",
        "context",
        {
            "cluster": entry.profile,
            "extensions": [{"extension": extension, "name": "context_info"}],
            "namespace": entry.namespace,
            "user": entry.profile,
        },
    )
    yield "users", "user", reference("client-certificate", entry.certificate) | reference("client-key", entry.key)


def _edit(file: Path, change: Callable[[yaml.MappingNode], bool], *, create: bool) -> bool:
    from minikube.host.files import make_directory, write_durably
    from minikube.kubernetes import kubeconfigtree as tree

    if not create and not file.is_file():
        return False
    try:
        make_directory(file.parent, mode=0o750)
    except OSError as error:
        raise _cannot(f"{file.parent} cannot be made", error) from error
    with locked(file):
        root = tree.parse(_read(file), file)
        if not change(root):
            return False
        write_durably(file, tree.render(root, file), mode=0o600)
        return True


@contextmanager
def locked(file: Path, *, timeout: float = 10.0) -> Iterator[None]:
    """Hold kubectl's own lock on a kubeconfig, `<file>.lock`, which exists exactly as long as someone writes.

    Ours is a symbolic link: it appears in one step, makes kubectl's O_EXCL fail as it must, and says who made it. Commands of ours
    queue for a kernel lock on the directory first; whoever holds that knows that a link of ours is a dead command's, and removes it.
    """
    import fcntl

    lock = file.with_name(file.name + ".lock")
    try:
        directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot(f"{file.parent} cannot be opened", error) from error
    deadline = time.monotonic() + timeout
    try:
        while True:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _lock_reason(lock, timeout) from None
                time.sleep(0.005)
            except OSError:  # a file system without such locks: kubectl's own still holds
                break
        while True:
            try:
                lock.symlink_to(f"minikube-{os.getpid()}")
                break
            except FileExistsError:
                if _made_by_us(lock):
                    lock.unlink(missing_ok=True)
                    continue
                if time.monotonic() > deadline:
                    raise _lock_reason(lock, timeout) from None
                time.sleep(0.01)
            except OSError as error:
                raise _cannot(f"{lock} cannot be created", error) from error
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(directory)


def _made_by_us(lock: Path) -> bool:
    try:
        return str(lock.readlink()).startswith("minikube-")
    except OSError:
        return False


def _lock_reason(lock: Path, timeout: float) -> Reason:
    return Reason(
        "HOST_KUBECONFIG_UPDATE",
        f"kubectl's lock {lock} was held for {timeout:g} s",
        advice=f"If no kubectl is running, a crashed one left it behind: rm {lock}",
    )


def _cannot(what: str, error: OSError) -> Reason:
    advice = "Set KUBECONFIG to a file in a directory that you can write to." if os.environ.get("KUBECONFIG") else ""
    return Reason("HOST_KUBECONFIG_UPDATE", f"{what}: {error.strerror}", advice=advice)


def _read(file: Path) -> bytes:
    """Empty if there is none. What is no file is refused: a pipe would keep us waiting, and a device would be replaced by a file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Reason("HOST_KUBECONFIG_UPDATE", f"{file} is not a regular file", advice="Set KUBECONFIG to a file.")
            text = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _cannot(f"{file} cannot be read", error) from error
    if len(text) > MOST_BYTES:
        raise Reason("HOST_KUBECONFIG_UPDATE", f"{file} is larger than {MOST_BYTES >> 20} MiB", advice="Set KUBECONFIG to another file.")
    return text


def _tree(file: Path) -> yaml.MappingNode | None:
    """None for a file that cannot be understood."""
    from minikube.kubernetes import kubeconfigtree as tree

    try:
        return tree.parse(_read(file), file)
    except Reason:
        return None
