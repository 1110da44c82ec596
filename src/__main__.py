"""`python src` runs the clone in place: the launcher's way in, without an install."""

from minikube.cli.main import entry

entry()
