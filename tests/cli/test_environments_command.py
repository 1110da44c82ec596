"""`docker-env` and `podman-env`: what goes into `eval`."""

from __future__ import annotations

import subprocess

import pytest
from conftest import Program


@pytest.mark.parametrize(
    ("shell", "first"),
    [
        ("bash", "unset DOCKER_TLS_VERIFY;"),
        ("zsh", "unset DOCKER_TLS_VERIFY;"),
        ("fish", "set -e DOCKER_TLS_VERIFY;"),
        ("tcsh", "unsetenv DOCKER_TLS_VERIFY;"),
        ("cmd", "SET DOCKER_TLS_VERIFY="),
        ("powershell", "Remove-Item Env:\\\\DOCKER_TLS_VERIFY"),
        ("emacs", '(setenv "DOCKER_TLS_VERIFY" nil)'),
        ("none", "DOCKER_TLS_VERIFY"),
    ],
)
def test_every_shell_takes_variables_back(minikube: Program, shell: str, first: str) -> None:
    done = minikube.inside("docker-env", "--unset", f"--shell={shell}")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == first
    assert len(done.stdout.splitlines()) == 4


def test_a_shell_gets_its_own_values_back(minikube: Program) -> None:
    script = minikube("docker-env", "-u", SHELL="/bin/bash", MINIKUBE_EXISTING_DOCKER_HOST="tcp://mine:1").stdout
    show = 'echo "$DOCKER_HOST/$DOCKER_CERT_PATH/$MINIKUBE_EXISTING_DOCKER_HOST"'
    before = {"DOCKER_HOST": "theirs", "DOCKER_CERT_PATH": "theirs", "MINIKUBE_EXISTING_DOCKER_HOST": "tcp://mine:1"}
    shown = subprocess.run(["/bin/bash", "-c", script + show], env=before, capture_output=True, text=True, check=True)
    assert shown.stdout == "tcp://mine:1//\n"


def test_podman_has_variables_of_its_own(minikube: Program) -> None:
    names = [line.split()[1].rstrip(";") for line in minikube.inside("podman-env", "-u", "--shell=bash").stdout.splitlines()]
    assert names == ["PODMAN_VARLINK_BRIDGE", "CONTAINER_HOST", "CONTAINER_SSHKEY", "MINIKUBE_ACTIVE_PODMAN"]


@pytest.mark.parametrize("command", ["docker-env", "podman-env"])
def test_eval_fails_when_the_command_does(minikube: Program, command: str) -> None:
    done = minikube(command)
    assert done.returncode == 85
    assert done.stdout == "false exit code 85\n"
    assert 'Profile "minikube" not found' in done.stderr
    assert subprocess.run(["/bin/sh", "-c", f"eval '{done.stdout}'"], check=False).returncode == 1
