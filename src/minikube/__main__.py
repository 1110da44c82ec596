"""`python -m minikube`."""

from minikube.cli.main import entry

entry()
