# ruff: noqa: PTH101, PTH103, PTH105, PTH108, PTH120, PTH123, PTH208
"""On a second start, the database and the API server run before the kubelet does. In the node, with the standard library and crictl:

    python3 -I -S forerunners.py keep <file> <directory of the static pods' manifests>     when the node is about to stop
    python3 -I -S forerunners.py run <file> <directory of the static pods' manifests>      when containerd answers again

A kubelet needs most of a second before it starts its first container, and everything else waits for the API server. So what the kubelet
asked the runtime for is kept, and asked for again in its own words, one attempt later. To the kubelet it looks as if it had been restarted
while its pods ran on, which it knows how to deal with. Where anything is not as it was, nothing is done here, and the kubelet does it all.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from typing import Any

FIRST = ("etcd", "kube-apiserver")
"""Their containers need nothing of the kubelet's: no volumes but directories of the node."""
PATIENCE = "20s"
RESTARTS = "io.kubernetes.container.restartCount"
LAST_WORDS = "io.kubernetes.container.terminationMessagePath"
GROUPS = "/sys/fs/cgroup"
# What the kubelet sets on a pod's control group when it makes it, in both versions of control groups.
GROUP_SETTINGS = ("cpu.shares", "cpu.cfs_quota_us", "cpu.weight", "cpu.max", "memory.limit_in_bytes", "memory.max", "pids.max")


def keep(place: str, manifests: str) -> None:
    """Write down what the runtime was asked for, if both run."""
    names = f"({'|'.join(FIRST)})"
    asked = [_ask("inspectp", "--name", f"^{names}-", "--state", "Ready"), _ask("inspect", "--name", f"^{names}$", "--state", "Running")]
    boxes, containers = (_answer(process) for process in asked)
    configs = {box["status"]["id"]: box["info"]["config"] for box in boxes}
    pods = {}
    for container in containers:
        name, box = container["status"]["metadata"]["name"], configs.get(container["info"]["sandboxID"])
        if box and box["metadata"]["namespace"] == "kube-system":
            pods[name] = {
                "box": box,
                "container": container["info"]["config"],
                "manifest": _digest(f"{manifests}/{name}.yaml"),
                "group": _group_settings(box["linux"]["cgroup_parent"]),
            }
    if pods.keys() == set(FIRST):
        with open(f"{place}.new", "w", encoding="utf-8") as stream:
            json.dump(pods, stream)
        os.replace(f"{place}.new", place)


def run(place: str, manifests: str) -> None:
    """Ask for it again; whatever goes wrong is left to the kubelet."""
    try:
        with open(place, encoding="utf-8") as stream:
            kept = stream.read()
    except FileNotFoundError:
        return
    os.unlink(place)  # an attempt has its number once
    pods = json.loads(kept)
    if any(pod["manifest"] != _digest(f"{manifests}/{name}.yaml") for name, pod in pods.items()):
        print("a manifest has changed: the kubelet does it all")
        return
    with tempfile.TemporaryDirectory() as directory:
        for process in [_begin(name, pod, directory) for name, pod in pods.items()]:
            process.wait()
    for pod in pods.values():
        _set_group(pod["group"])


def next_attempt(box: dict[str, Any], container: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """As the kubelet counts: the pod, the container, its restarts, the number of its log."""
    attempt = container["metadata"].get("attempt", 0) + 1
    box = {**box, "metadata": {**box["metadata"], "attempt": box["metadata"].get("attempt", 0) + 1}}
    container = {
        **container,
        "metadata": {**container["metadata"], "attempt": attempt},
        "annotations": {**container["annotations"], RESTARTS: str(attempt)},
        "log_path": f"{container['metadata']['name']}/{attempt}.log",
    }
    return box, container


def _begin(name: str, pod: dict[str, Any], directory: str) -> subprocess.Popen[bytes]:
    box, container = next_attempt(pod["box"], pod["container"])
    _make_file_for_last_words(container)
    files = []
    for kind, config in (("container", container), ("pod", box)):
        files.append(f"{directory}/{name}.{kind}.json")
        with open(files[-1], "w", encoding="utf-8") as stream:
            json.dump(config, stream)
    return subprocess.Popen(["crictl", "--timeout", PATIENCE, "run", "--no-pull", "--cancel-timeout", PATIENCE, *files])


def _make_file_for_last_words(container: dict[str, Any]) -> None:
    """Each container has one of its own."""
    for mount in container["mounts"]:
        if mount["container_path"] == container["annotations"].get(LAST_WORDS):
            directory = os.path.dirname(mount["host_path"])
            os.makedirs(directory, exist_ok=True)
            mount["host_path"] = f"{directory}/{os.urandom(4).hex()}"
            with open(mount["host_path"], "w", encoding="ascii"):
                os.chmod(mount["host_path"], 0o666)  # noqa: S103 - as the kubelet does: a container may run as anybody


def _group_settings(group: str) -> dict[str, str]:
    """Which file of a pod's control group says what."""
    found = {}
    for hierarchy in (GROUPS, *(f"{GROUPS}/{name}" for name in os.listdir(GROUPS))):
        for setting in GROUP_SETTINGS:
            path = f"{hierarchy}{group}/{setting}"
            try:
                with open(path, encoding="ascii") as stream:
                    found[path] = stream.read()
            except OSError:
                continue
    return found


def _set_group(settings: dict[str, str]) -> None:
    """The kubelet leaves a pod's control group alone when it finds one."""
    for path, value in settings.items():
        try:
            with open(path, "w", encoding="ascii") as stream:
                stream.write(value)
        except OSError as error:
            print(f"{path} stays as it is: {error}")


def _ask(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["crictl", *arguments, "--output", "json"], stdout=subprocess.PIPE)


def _answer(process: subprocess.Popen[bytes]) -> Any:
    """crictl's answer about one is not a list."""
    found = json.loads(process.communicate(timeout=5)[0])
    return found if isinstance(found, list) else [found]


def _digest(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


if __name__ == "__main__":
    {"keep": keep, "run": run}[sys.argv[1]](*sys.argv[2:])
