"""Events for programs: CloudEvents 1.0, one JSON object per line, every data value a string."""

from __future__ import annotations

import os

_SOURCE = "https://minikube.sigs.k8s.io/"
_TYPE = "io.k8s.sigs.minikube."

# The kinds that profiles/<profile>/events.json keeps, for `status --layout=cluster`.
RECORDED = frozenset({"step", "download", "error", "warning"})

# A step's number is its place in its command's list; a reader tells how far a command is from these.
STEPS: dict[str, tuple[str, ...]] = {
    "start": (
        "Initial Minikube Setup",
        "Selecting Driver",
        "Downloading Artifacts",
        "Starting Node",
        "Updating Driver",
        "Pulling Base Image",
        "Running on Localhost",
        "Local OS Release",
        "Creating Container",
        "Creating VM",
        "Running Remotely",
        "Preparing Kubernetes",
        "Generating certificates",
        "Booting control plane",
        "Configuring RBAC rules",
        "Configuring CNI",
        "Configuring Localhost Environment",
        "Verifying Kubernetes",
        "Enabling Addons",
        "Done",
    ),
    "stop": ("Stopping", "PowerOff", "Done"),
    "pause": ("Pausing", "Done"),
    "unpause": ("Unpausing", "Done"),
    "delete": ("Deleting", "Stopping", "Done", "Puring home dir"),  # the last one is spelled so in the events upstream sends
}


def event(kind: str, data: dict[str, str]) -> str:
    """One event as a line of JSON. `kind` is the end of its type: step, info, warning, error, download, download.progress."""
    import json

    return json.dumps(
        {
            "specversion": "1.0",
            "id": new_id(),
            "source": _SOURCE,
            "type": _TYPE + kind,
            "datacontenttype": "application/json",
            "data": data,
        },
        separators=(",", ":"),
    )


def step_data(command: str, name: str, message: str) -> dict[str, str]:
    """The data of a step event: which of how many, its name, and what a person would read."""
    steps = STEPS.get(command, ())
    number = str(steps.index(name)) if name in steps else ""
    return {"currentstep": number, "message": message, "name": name, "totalsteps": str(len(steps) - 1) if steps else ""}


def new_id() -> str:
    """A random UUID (version 4); the uuid module costs more than all the rest of an event."""
    value = bytearray(os.urandom(16))
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    text = value.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
