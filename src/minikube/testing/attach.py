"""Attach this process to a command in a node: what `minikube ssh` does. Arguments: the driver's name, the machine's, tty or pipes, argv."""

from __future__ import annotations

import sys

from minikube.drivers.registry import driver_for

if __name__ == "__main__":
    name, machine, kind, *argv = sys.argv[1:]
    sys.exit(driver_for(name, machine).node().attach(argv, tty=kind == "tty"))
