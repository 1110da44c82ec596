"""Create one machine: a process for tests to kill in the middle of it. Arguments: the driver's name, the machine's, flags."""

from __future__ import annotations

import sys

from minikube.testing.subject import Box, Subject, components

if __name__ == "__main__":
    name, machine, *flags = sys.argv[1:]
    box = Box(Subject(name, flags), machine)
    components()
    print("creating", flush=True)
    box.create()
    print("created", flush=True)
