"""Profiles on disk: load, save, list, delete, and which one is meant when nobody says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minikube.output.reason import Reason
from minikube.profiles import glance
from minikube.profiles.paths import home, profile_directory

if TYPE_CHECKING:
    from minikube.profiles.clusterconfig import ClusterConfig

DEFAULT_PROFILE = "minikube"

# A certificate's common name has at most 64 characters, and that of a node is `system:node:` and the node's name.
LONGEST_NAME = 64 - len("system:node:")
# Upstream refuses profiles named like the words its own command line gives a meaning to.
RESERVED_NAMES = frozenset({"start", "stop", "status", "delete", "config", "open", "profile", "addons", "cache", "logs"})


class Profile(NamedTuple):
    """A profile as found on disk; `config` is None where its file is missing or cannot be read."""

    name: str
    config: ClusterConfig | None


class Listing(NamedTuple):
    """Every profile of this home, the usable ones apart from the broken ones."""

    valid: list[Profile]
    invalid: list[Profile]


exists = glance.exists


def config_file(name: str) -> Path:
    return profile_directory(name) / "config.json"


def load(name: str) -> ClusterConfig | None:
    """The profile's configuration, None if there is no such profile, HOST_CONFIG_LOAD if its file is damaged."""
    path = config_file(name)
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Reason("HOST_CONFIG_LOAD", f"{path} cannot be read: {error.strerror}") from error
    import msgspec

    from minikube.profiles.clusterconfig import decode

    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Reason(
            "HOST_CONFIG_LOAD",
            f"{path} is damaged: {error}",
            advice=f"Repair the file (it has not been touched), or remove the cluster with: minikube delete -p {name}",
        ) from error


def save(config: ClusterConfig) -> None:
    """Write the profile's configuration so that a crash leaves the old or the new one, keeping keys that only the file has."""
    from minikube.host.files import cannot_write, make_directory, write_durably
    from minikube.profiles.clusterconfig import encode

    path = config_file(config.Name)
    load(config.Name)  # a damaged file is reported, never overwritten
    try:
        make_directory(path.parent, mode=0o700)
        previous = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise cannot_write(path, error) from error
    write_durably(path, encode(config, previous=previous), mode=0o600)


def delete(name: str) -> None:
    """Remove the profile's directory; fine if it is already gone."""
    import shutil

    directory = profile_directory(name)
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Reason("GUEST_PROFILE_DELETION", f"{directory} cannot be removed: {error}") from error


def list_profiles() -> Listing:
    """All profiles by name. Valid, as upstream has it: a driver is named, and every node names its Kubernetes version."""
    listing = Listing([], [])
    for name in glance.names():
        try:
            config = load(name)
        except Reason:
            config = None
        (listing.valid if config is not None and is_valid(config) else listing.invalid).append(Profile(name, config))
    return listing


def is_valid(config: ClusterConfig) -> bool:
    return bool(config.Driver) and all(node.KubernetesVersion for node in config.Nodes or [])


def active_profile() -> str:
    """The profile that `minikube profile NAME` chose (key `profile` of config.json), else `minikube`."""
    try:
        data = (home() / "config" / "config.json").read_bytes()
    except OSError:
        return DEFAULT_PROFILE
    import json

    try:
        settings = json.loads(data)
    except ValueError:
        return DEFAULT_PROFILE
    name = settings.get("profile") if isinstance(settings, dict) else None
    return name if isinstance(name, str) and name else DEFAULT_PROFILE


def validate_name(name: str) -> None:
    """Refuse names upstream refuses: they must be host names of two characters or more, and none of its own words."""
    import re

    if name.lower() in RESERVED_NAMES:
        raise Reason(
            "MK_RESERVED_PROFILE",
            f'Profile name "{name}" is reserved keyword. To delete this profile, run: "minikube delete -p {name}"',
        )
    label = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
    if len(name) < 2 or not re.fullmatch(rf"{label}(\.{label})*", name):
        raise Reason(
            "MK_USAGE",
            f'Profile name "{name}" is not valid',
            advice="Only alphanumeric and dashes '-' are permitted. Minimum 2 characters, starting with alphanumeric.",
        )
    if len(name) > LONGEST_NAME:
        raise Reason(
            "MK_USAGE",
            f'Profile name "{name}" is too long: it has {len(name)} characters',
            advice=f"Use at most {LONGEST_NAME} characters.",
        )


def machine_name(profile: str, node_name: str = "") -> str:
    """The machine behind a node: the profile's own name for the first one, `<profile>-m02` for the others."""
    return f"{profile}-{node_name}" if node_name else profile
