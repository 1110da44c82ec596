"""Images of a container engine on this machine: docker or podman by their programs, docker also by its socket alone."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote

from minikube.host.process import ProcessFailed, run, spawn

_PROGRAMS = ("docker", "podman")
_SOCKET = "/var/run/docker.sock"
_PATIENCE = 600.0


class NoSuchImage(Exception):
    """No engine of this machine has the image; says what each of them answered."""


def save(name: str, target: Path) -> None:
    """Write the image as an archive, from the first engine that has it."""
    answers = []
    for program in _programs():
        with target.open("wb") as stream:
            process = spawn([program, "image", "save", name], stdout=stream, stderr=-1)
            errors = process.communicate()[1].decode(errors="replace").strip()
        if process.returncode == 0:
            return
        answers.append(f"{Path(program).name}: {errors.splitlines()[-1] if errors else f'exit code {process.returncode}'}")
    if not any(answer.startswith("docker") for answer in answers) and (path := _socket()):
        try:
            with target.open("wb") as stream:
                _save_from_socket(path, name, stream)
        except (OSError, http.client.HTTPException) as error:
            answers.append(f"{path}: {error}")
        else:
            return
    raise NoSuchImage("; ".join(answers) or "there is neither docker nor podman on this machine")


def load(archive: Path) -> str:
    """Give an archive to the first engine there is; its name."""
    answers = []
    for program in _programs():
        try:
            run([program, "image", "load", "--input", str(archive)])
        except ProcessFailed as failed:
            answers.append(str(failed))
        else:
            return Path(program).name
    if path := _socket():
        with archive.open("rb") as stream:
            _exchange(path, "POST", "/images/load", stream, {"Content-Type": "application/x-tar"})
        return path
    raise NoSuchImage("; ".join(answers) or "there is neither docker nor podman on this machine")


def _programs() -> Iterator[str]:
    for name in _PROGRAMS:
        if found := shutil.which(name):
            yield found


def _socket() -> str:
    given = os.environ.get("DOCKER_HOST", "")
    path = given.removeprefix("unix://") if given.startswith("unix://") else _SOCKET
    return path if Path(path).is_socket() else ""


def _save_from_socket(path: str, name: str, stream: IO[bytes]) -> None:
    _exchange(path, "GET", f"/images/{quote(name, safe='')}/get", None, {}, into=stream)


def _exchange(path: str, method: str, url: str, body: IO[bytes] | None, headers: dict[str, str], *, into: IO[bytes] | None = None) -> None:
    connection = _UnixConnection(path)
    try:
        connection.request(method, url, body, headers, encode_chunked=body is not None)
        answer = connection.getresponse()
        if answer.status != 200:
            text = answer.read(10_000)
            try:
                why = str(json.loads(text)["message"])
            except (ValueError, KeyError, TypeError):
                why = text.decode(errors="replace").strip() or f"HTTP {answer.status}"
            raise OSError(why)
        if into is not None:
            shutil.copyfileobj(answer, into, 1 << 20)
        else:
            answer.read()
    finally:
        connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
