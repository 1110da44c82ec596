"""What `status` and `profile list` want of the user's kubeconfig, without loading a YAML library for it.

Programs write kubeconfigs in one plain style: two spaces, one key per line, short values. That style is read here line by line;
a file with anything else in it is left to the real parser.
"""

from __future__ import annotations

import os

_SECTIONS = ("clusters", "contexts")
_MOST = 1 << 20  # characters that are read here
# Characters that may begin or continue something other than a plain one-line value.
_BEYOND_PLAIN = frozenset("\"'&*!|>{}[]%#@`\\\t?,")


class Contents:
    """The plain part of a kubeconfig: where each cluster is, and which cluster each context means."""

    def __init__(self) -> None:
        self.current = ""
        self.servers: dict[str, str] = {}
        self.clusters: dict[str, str] = {}


def file_text() -> str:
    """The file kubectl would write to, as text; kubeconfig.path() says the same."""
    candidates = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not candidates:
        return os.path.expanduser("~/.kube/config")  # noqa: PTH111
    return next((candidate for candidate in candidates if os.path.exists(candidate)), candidates[0])  # noqa: PTH110


def endpoint(profile: str) -> str:
    """The server URL kubectl would use for this profile, empty if there is none or the file cannot be read."""
    contents = _contents()
    if contents is None:
        from minikube.kubernetes import kubeconfig

        return kubeconfig.endpoint(profile)
    return contents.servers.get(contents.clusters.get(profile, ""), "")


def current_context() -> str:
    """The name of kubectl's current context, empty if there is none."""
    contents = _contents()
    if contents is None:
        from minikube.kubernetes import kubeconfig

        return kubeconfig.current_context()
    return contents.current


def _contents() -> Contents | None:
    try:
        file = file_text()
        if not os.path.isfile(file):  # noqa: PTH113 - nor is a pipe or a device read
            return Contents()
        with open(file, encoding="utf-8") as stream:  # noqa: PTH123
            text = stream.read(_MOST + 1)
            return scan(text) if len(text) <= _MOST else None
    except OSError:
        return Contents()
    except ValueError:
        return None


def scan(text: str) -> Contents | None:
    """What the text says; None if it is not all in the plain style."""
    contents = Contents()
    section = inner = ""
    item: dict[str, str] = {}
    opened = False  # the line before was `cluster:` or `context:`
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        if not bare:
            continue
        indent, dash = len(line) - len(bare), bare.startswith("- ")
        if dash:
            bare = bare[2:]
            indent += 2
        key, colon, value = bare.partition(":")
        value = value.strip()
        if not colon:
            if not (dash and _is_plain(bare)):  # an item of a list of words (the arguments of a login program)
                return None
            continue
        if not _is_plain(key) or bare[len(key) + 1 :][:1] not in ("", " "):
            return None
        if value in ("{}", "[]", '""', "null"):
            value = ""
        elif not _is_plain(value):
            return None
        if indent == 0:
            _keep(contents, section, item)
            section, inner, item = key, "", {}
            if key == "current-context":
                contents.current = value
        elif section in _SECTIONS:
            if indent == 2 and dash:
                _keep(contents, section, item)
                inner, item = "", {}
            elif not inner or (opened and indent > 2 and (indent != 4 or dash)):
                return None  # valid, but indented in another way
            opened = False
            if indent == 2:
                inner, opened = key, key in ("cluster", "context")
                if key == "name":
                    item["name"] = value
            elif indent == 4 and not dash and inner in ("cluster", "context"):
                item[key] = value
    _keep(contents, section, item)
    return contents


def _keep(contents: Contents, section: str, item: dict[str, str]) -> None:
    name = item.get("name", "")
    if name and section == "clusters":
        contents.servers.setdefault(name, item.get("server", ""))
    elif name and section == "contexts":
        contents.clusters.setdefault(name, item.get("cluster", ""))


def _is_plain(value: str) -> bool:
    """Whether YAML reads the value as this very text, or as something no name and no address could be."""
    if value.startswith("- ") or value == "-" or "--- " in value or ": " in value:
        return False
    for character in value:
        if character in _BEYOND_PLAIN:
            # Times have a comma after the weekday; inside a value these four are ordinary.
            if character in ",@?%" and value[0] not in ",@?%":
                continue
            return False
    return True
