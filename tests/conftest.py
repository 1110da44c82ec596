"""What every test may use: the components of the store, where it has them already."""

import os
import signal

from minikube.profiles.paths import store


def pytest_configure() -> None:
    _let_interruptions_work()
    _name_components()


def _let_interruptions_work() -> None:
    """A shell starts what it runs in the background with Ctrl-C ignored, and every program that a test starts would inherit that."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _name_components() -> None:
    """Tests that need single components take the newest in the store, unless they are told which."""
    for variable, entries in (("MINIKUBE_TEST_BINARIES", "containerd-*"), ("MINIKUBE_TEST_NODE_IMAGE", "node-image-*")):
        found = sorted(store().glob(f"entries/{entries}/content"), key=lambda path: path.stat().st_mtime)
        if found:
            os.environ.setdefault(variable, str(found[-1]))
