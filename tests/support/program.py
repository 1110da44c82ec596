"""The real program in a home of its own, without a cluster."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikube.cli.main import main
from minikube.output import debuglog

PROGRAM = Path(__file__).parents[2] / "src" / "__main__.py"


class Program:
    """Runs `minikube …` as a user would, away from the user's own files."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / ".minikube"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "MINIKUBE_HOME": str(directory),
            "KUBECONFIG": str(directory / "kubeconfig"),
            "LC_ALL": "C.UTF-8",
        }

    def __call__(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-s", "-E", str(PROGRAM), *words],
            env=self.environment | environment,
            cwd=self.home.parent,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=240,
            check=False,
        )

    def inside(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The same without a process of its own, for the tests that ask for many."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.setattr(debuglog, "_sinks", [])
            patch.setattr(sys, "argv", ["minikube", *words])
            for key, value in self.environment.items():
                patch.setenv(key, value)
            code = main(sys.argv)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    @property
    def config(self) -> Path:
        return self.home / "config" / "config.json"

    def write_config(self, text: str) -> None:
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(text)

    def add_profile(self, name: str, text: str | None = None) -> Path:
        """A profile as if it had been started and its machine removed behind our back."""
        file = self.home / "profiles" / name / "config.json"
        file.parent.mkdir(parents=True)
        node = {"Name": "", "IP": "192.0.2.7", "Port": 8443, "KubernetesVersion": "v1.37.1", "ControlPlane": True, "Worker": True}
        kubernetes = {"KubernetesVersion": "v1.37.1", "ClusterName": name, "ContainerRuntime": "containerd"}
        config = {"Name": name, "Driver": "none", "APIServerPort": 8443, "KubernetesConfig": kubernetes, "Nodes": [node]}
        file.write_text(json.dumps(config) if text is None else text)
        return file
