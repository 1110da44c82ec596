"""Pods that will not become Ready by waiting: containers that end again and again, or that cannot be made."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from minikube.kubernetes.api import Api, ApiError, ApiUnreachable
from minikube.output.reason import Reason

Pod = dict[str, Any]

# A kubelet restarts at once what ended for the first time, and after 10 s what ended for the second.
_TWICE = "back-off 10s "
# What keeps a container from being made. Registries and disks may be slow for a moment.
_NOT_MADE = (
    *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
    *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
)
PATIENCE_SECONDS = 15.0
STEADY_SECONDS = 3.0
# Words of programs that ask others which are just starting: on a busy machine, also three times.
_PASSING = (
    *("connection refused", "connection reset", "i/o timeout", "deadline exceeded", "handshake timeout", "leaderelection lost"),
    *("not initialized yet", "request timed out", "no route to host", "network is unreachable"),
)
_TELLING = re.compile(r"\b(err(or)?|fail(ed)?|fatal|panic)\b", re.IGNORECASE)
_WORDS = 600  # of what a program said, in a message


def is_passing(words: str) -> bool:
    """Whether the last words of a program blame something that may come yet."""
    last = shortened(words).lower()
    return any(word.lower() in last for word in _PASSING)


def shortened(words: str) -> str:
    """The last lines of what a program said, as much as a person wants to read."""
    lines = [line.strip() for line in words.strip().splitlines() if line.strip()]
    enough = 1 if lines and _TELLING.search(lines[-1]) else 3
    return "\n".join(lines[-enough:])[-_WORDS:] or "it said nothing"


class Watchdog:
    """Looks at pods while others wait for them, and knows since when each has been in trouble."""

    def __init__(self, api: Api, started_after: float) -> None:
        """What the API tells of the time before that moment (unix time; 0: never) does not count."""
        self._api, self._moment = api, _text(started_after) if started_after else ""
        self._stuck: dict[tuple[str, str], float] = {}

    def look(self, pods: Iterable[Pod]) -> None:
        """GUEST_START with the pod, its last words and what is known of the problem, if waiting is of no use."""
        for pod in pods:
            for container in _statuses(pod):
                waiting = container.get("state", {}).get("waiting") or {}
                self._judge(pod, container, str(waiting.get("reason", "")), str(waiting.get("message", "")))

    def _judge(self, pod: Pod, container: dict[str, Any], reason: str, message: str) -> None:
        key = pod["metadata"]["name"], container["name"]
        if reason not in _NOT_MADE:
            self._stuck.pop(key, None)
        ended = container.get("lastState", {}).get("terminated") or {}
        if reason == "CrashLoopBackOff" and _TWICE not in message and str(ended.get("finishedAt") or "") > self._moment:
            words = last_words(self._api, pod, container)
            if not is_passing(words):
                raise _failure(f"pod {key[0]}: {key[1]} ends again and again with exit code {ended.get('exitCode', '?')}", words)
        if reason in _NOT_MADE:
            since = self._stuck.setdefault(key, time.monotonic())
            if time.monotonic() - since >= PATIENCE_SECONDS and not is_passing(message):
                raise _failure(f"pod {key[0]}: {key[1]} is {reason}", message)


def last_words(api: Api, pod: Pod, container: dict[str, Any]) -> str:
    """What the container said before it ended, or why the kubelet thinks it did."""
    metadata = pod["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log?container={quote(container['name'])}&tailLines=20"
    ended = container.get("lastState", {}).get("terminated") or container.get("state", {}).get("terminated") or {}
    for previous in ("&previous=true", ""):
        try:
            if words := api.text(path + previous).strip():
                return words
        except (ApiError, ApiUnreachable):
            continue
    return str(ended.get("message") or ended.get("reason") or "")


def why_unsteady(pod: Pod, since: float) -> str:
    """A container without a readiness probe is ready as soon as it runs: one that has ended since that moment has to run for a while."""
    moment, now = _text(since), time.time()
    for container in _statuses(pod):
        ended, running = container.get("lastState", {}).get("terminated") or {}, container.get("state", {}).get("running") or {}
        if str(ended.get("finishedAt") or "") > moment and str(running.get("startedAt") or "") > _text(now - STEADY_SECONDS):
            return f"pod {pod['metadata']['name']}: {container['name']} has just ended and was started again"
    return ""


def _statuses(pod: Pod) -> list[dict[str, Any]]:
    status = pod.get("status", {})
    return [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]


def _text(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _failure(what: str, words: str) -> Reason:
    reason = Reason("GUEST_START", f"{what}: {shortened(words)}", advice="See all that it said with: minikube logs")
    reason.evidence = words or what
    return reason
