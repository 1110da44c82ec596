"""Clusters that cannot serve a command right now, in the words and with the exit codes that scripts know."""

from __future__ import annotations

from minikube.output.reason import Reason


class NotReady(Reason):
    """Nothing failed: the profile, its host or its API server is just not in the state the command needs."""


def profile_not_found(profile: str) -> NotReady:
    message = f'Profile "{profile}" not found. Run "minikube profile list" to view all profiles.'
    return NotReady("GUEST_PROFILE_NOT_FOUND", message, advice=_to_start(profile), exit_code=85)


def host_not_found(profile: str) -> NotReady:
    message = f"The control-plane node {profile} host does not exist"
    return NotReady("GUEST_HOST_NOT_FOUND", message, advice=_to_start(profile), exit_code=85)


def host_not_running(profile: str, state: str = "Stopped") -> NotReady:
    message = f"The control-plane node {profile} host is not running: state={state}"
    return NotReady("GUEST_HOST_NOT_RUNNING", message, advice=_to_start(profile), exit_code=83)


def apiserver_paused(profile: str) -> NotReady:
    message = f"The control-plane node {profile} apiserver is paused"
    return NotReady("K8S_APISERVER_PAUSED", message, advice=f'To unpause the cluster, run: "{command("unpause", profile)}"', exit_code=103)


def apiserver_not_running(profile: str, state: str = "Stopped") -> NotReady:
    message = f"The control-plane node {profile} apiserver is not running: (state={state})"
    return NotReady("K8S_APISERVER_NOT_RUNNING", message, advice=_to_start(profile), exit_code=103)


def command(verb: str, profile: str) -> str:
    """The command line a person would type for that profile."""
    return f"minikube {verb}" if profile == "minikube" else f"minikube {verb} -p {profile}"


def _to_start(profile: str) -> str:
    return f'To start a cluster, run: "{command("start", profile)}"'
