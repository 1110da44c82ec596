"""Root rights: whether there is a way to them, and taking it: the same command once more, through sudo."""

from __future__ import annotations

import os
import sys

from minikube.output.reason import Reason

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

ROOT, SUDO, PASSWORD, NONE = "root", "sudo", "password", ""
PROMPT = "-p[sudo] password for %p: "

# What a command may need of its caller's environment. sudo itself would drop it; nothing of the rest reaches root.
_NAMES = frozenset({"HOME", "KUBECONFIG", "XDG_CACHE_HOME", "CHANGE_MINIKUBE_NONE_USER", "TERM", "NO_COLOR", "LANG", "LANGUAGE", "CI"}) | {
    *("DOCKER_CONFIG", "DOCKER_HOST", "REGISTRY_AUTH_FILE")
}
# Where Go and pip fetch from. Not what else they have: some settings name a program that root would run (GOAUTH, PIP_PYTHON) or a file
# that it would write (PIP_LOG).
_FETCHING = frozenset({"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE"}) | {
    *(
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_CERT",
        "PIP_PROXY",
        "PIP_TRUSTED_HOST",
        "PIP_TIMEOUT",
        "PIP_DEFAULT_TIMEOUT",
        "PIP_RETRIES",
    )
}
_PREFIXES = ("MINIKUBE_", "LC_", "SSL_CERT_", "SUPPRESS_MINIKUBE_")
_PROXIES = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy"})

# Reads what it is to be from stdin: a proxy's address may hold a password, and everybody can read a command line.
_CONTINUE = """\
import json, os, sys
told = json.loads(os.fdopen(0, "rb").read())
os.open(os.devnull, os.O_RDONLY)
os.environ.update(told["environment"])
sys.path[:0] = [entry for entry in told["path"] if entry not in sys.path]
sys.orig_argv[:], sys.argv[0] = told["program"], told["name"]
from minikube.cli.main import entry
entry()
"""


def way(*, may_ask: bool = True) -> str:
    """How this process can get root rights: it has them, sudo gives them, sudo asks for a password first, or not at all."""
    if os.geteuid() == 0:
        return ROOT
    import shutil

    from minikube.host.process import run

    if shutil.which("sudo") is None:
        return NONE
    if run(["sudo", "-n", "true"], check=False).code == 0:
        return SUDO
    return PASSWORD if may_ask and _on_terminal() else NONE


def refusal(why: str) -> Reason:
    """For people without any way to root rights."""
    return Reason(
        "DRV_NEEDS_ROOT",
        f"{why}, and sudo gives you no root rights without a password here",
        advice="Ask the administrator of this machine to let you use sudo, or use a driver without that need: minikube drivers",
    )


def require(why: str, *, may_ask: bool = True, adding: tuple[str, ...] = ()) -> None:
    """Return if this process is root's. Otherwise it becomes the same command as root, or there is a reason why it cannot.

    `adding`: words for the command as root, which has no stdin: what somebody has answered already.
    """
    found = way(may_ask=may_ask)
    if found == ROOT:
        return
    if found == NONE:
        raise refusal(why)
    if found == PASSWORD:
        _ask(why)
        # Where sudo forgets at once that it has asked, it asks again.
        found = way()
    _through_sudo("-n" if found == SUDO else PROMPT, [*sys.argv[1:], *adding])


def _ask(why: str) -> None:
    """Let sudo ask for the password, before it is handed this command: then it is still us who say what is wrong."""
    from minikube.host.process import spawn

    print(f"* {why}: sudo asks for your password", file=sys.stderr, flush=True)
    if spawn(["sudo", "-v", PROMPT], stdin=None, stdout=None, stderr=None).wait():
        raise Reason(
            "DRV_NEEDS_ROOT",
            f"{why}, and sudo did not give them to you",
            advice="Run it again with the right password, which is your own. If sudo says that you may not use it: ask the administrator "
            "of this machine, or use a driver without that need: minikube drivers",
        )


def _through_sudo(option: str, words: list[str]) -> NoReturn:
    import json

    from minikube.host.process import become

    told = {
        "environment": passed_on(os.environ),
        "path": [os.path.abspath(entry) for entry in sys.path],  # noqa: PTH100
        "program": sys.orig_argv,
        "name": sys.argv[0],
    }
    source, sink = os.pipe()
    # A pipe takes this much without a reader; an environment that is larger is not one that anybody has.
    os.set_blocking(sink, False)
    os.write(sink, json.dumps(told).encode())
    os.close(sink)
    os.dup2(source, 0)
    become(["sudo", option, "--", sys.executable, "-I", "-c", _CONTINUE, *words])


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that goes with a command that becomes root's."""
    known = _NAMES | _FETCHING
    return {name: value for name, value in environment.items() if name in known or name.lower() in _PROXIES or name.startswith(_PREFIXES)}


def _on_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
