"""`systemctl` in a node, for scripts that ask it: our supervisor's services, under the names systemd would give them.

    python3 -I -S systemctl.py is-active [--quiet] kubelet
    python3 -I -S systemctl.py start|stop|restart|status NAME ...

There is no systemd in a node, and this does not pretend that there is: every other verb is refused with that sentence. Exit codes are
systemctl's own: 0 active, 3 not active, 4 no such unit (asked by `status`). Standard library only.
"""

from __future__ import annotations

import json
import socket
import sys

CONTROL_SOCKET = "/run/minikube/control.sock"
ACTIVE = {"running": "active", "ready": "active", "done": "active", "waiting": "activating", "starting": "activating"}
ENDED = {"stopping": "deactivating", "backoff": "activating", "failed": "failed"}
INACTIVE, NOT_ACTIVE, NO_SUCH_UNIT = "inactive", 3, 4
VERBS = "is-active, is-enabled, status, start, stop, restart"


def main(words: list[str], path: str = CONTROL_SOCKET) -> int:
    options = {word for word in words if word.startswith("-")}
    verb, *names = [word.removesuffix(".service") for word in words if not word.startswith("-")] or ["status"]
    try:
        services = ask(path, {"verb": "status"})["services"]
    except (OSError, ValueError, KeyError) as error:
        return refuse(f"the supervisor of this node does not answer: {error}")
    states = {name: state_of(services.get(name)) for name in names or services}
    if verb in ("is-active", "is-enabled"):
        words_for = states if verb == "is-active" else {name: "enabled" if name in services else "not-found" for name in names}
        if "--quiet" not in options and "-q" not in options:
            print("\n".join(words_for.values()))
        good = "active" if verb == "is-active" else "enabled"
        return 0 if good in words_for.values() else NOT_ACTIVE if verb == "is-active" else 1
    if verb == "status":
        for name, state in states.items():
            known = f"{name}.service: {state} ({services[name]['state']})" if name in services else ""
            print(known or f"Unit {name}.service could not be found.")
        if missing(names, services):
            return NO_SUCH_UNIT
        return 0 if all(state == "active" for state in states.values()) or not names else NOT_ACTIVE
    if verb in ("start", "stop", "restart") and names:
        if unknown := missing(names, services):
            return refuse(f"Unit {unknown[0]}.service not found.", 5)
        answer = ask(path, {"verb": verb, "names": names})
        return 0 if answer.get("ok") else refuse(str(answer.get("error")))
    return refuse(f"'{' '.join(words)}' is not understood: this node has no systemd, only {VERBS} of: {', '.join(services)}")


def state_of(service: dict[str, str] | None) -> str:
    state = service["state"] if service else ""
    return ACTIVE.get(state) or ENDED.get(state, INACTIVE)


def missing(names: list[str], services: dict[str, dict[str, str]]) -> list[str]:
    return [name for name in names if name not in services]


def ask(path: str, request: dict[str, object]) -> dict[str, dict[str, dict[str, str]]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(60)
        connection.connect(path)
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as stream:
            answer: dict[str, dict[str, dict[str, str]]] = json.loads(stream.readline())
            return answer


def refuse(why: str, code: int = 1) -> int:
    print(why, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
