"""One rule for every setting: flag > MINIKUBE_<FLAG> in the environment > config.json > default."""

from __future__ import annotations

import os

from minikube.output.reason import Reason
from minikube.profiles.values import ZERO, BadValue, parse

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_PROFILE = "minikube"


class Flag:
    """Something that can be set, and how: the declaration that parsing, help, completion and documentation share.

    Kinds: bool, int, duration (nanoseconds), string, strings (comma list, repeatable), stringArray (repeatable),
    extra (component.key=value, repeatable). `implied` is the value of the flag without one (`--watch`).
    """

    __slots__ = ("choices", "config_key", "default", "help", "hidden", "implied", "kind", "name", "section", "short")

    def __init__(
        self,
        name: str,
        kind: str = "string",
        default: Any = None,
        help: str = "",
        *,
        short: str = "",
        hidden: bool = False,
        implied: str = "",
        section: str = "",
        config_key: str = "",
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name, self.kind, self.help, self.short, self.hidden = name, kind, help, short, hidden
        self.default = ZERO[kind] if default is None else default
        self.implied = "true" if kind == "bool" else implied
        self.section, self.config_key, self.choices = section, config_key or name, choices

    @property
    def label(self) -> str:
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"


class Settings:
    """The values one command runs with. Each is looked up when asked for and knows where it came from."""

    def __init__(
        self, flags: Mapping[str, Flag], given: Mapping[str, Any], *, arguments: list[str] | None = None, use_file: bool = True
    ) -> None:
        self._flags = flags
        self._given = given
        self._use_file = use_file
        self._file: dict[str, Any] | None = None
        self._known: dict[str, tuple[Any, str]] = {}
        self.arguments = arguments if arguments is not None else []

    def get(self, name: str) -> Any:
        """The value, of the type its flag declares."""
        return self._lookup(name)[0]

    def source(self, name: str) -> str:
        """Where the value comes from: flag, environment, config or default."""
        return self._lookup(name)[1]

    def changed(self, name: str) -> bool:
        """Whether the flag was given on the command line, as pflag's Changed."""
        return name in self._given

    def prefer(self, name: str, value: Any) -> None:
        """What this run takes instead of the default; whatever anybody chose stands above it."""
        if self.source(name) == "default":
            self._known[name] = (value, "default")

    def unread(self) -> list[str]:
        """Flags that were given but that nobody has asked for: they have no effect."""
        return [name for name in self._given if name not in self._known]

    def has(self, name: str) -> bool:
        """Whether this command has such a flag at all."""
        return name in self._flags

    @property
    def profile(self) -> str:
        return str(self.get("profile")) or DEFAULT_PROFILE

    def _lookup(self, name: str) -> tuple[Any, str]:
        if name not in self._known:
            self._known[name] = self._find(self._flags[name])
        return self._known[name]

    def _find(self, flag: Flag) -> tuple[Any, str]:
        if flag.name in self._given:
            return self._given[flag.name], "flag"
        variable = environment_name(flag.name)
        text = os.environ.get(variable, "")
        if text:
            return _read(flag, text, f"the environment variable {variable}"), "environment"
        stored = self._stored(flag)
        if stored is not None:
            return _read(flag, stored, f'"{flag.config_key}" in config.json'), "config"
        return flag.default, "default"

    def _stored(self, flag: Flag) -> Any:
        if not self._use_file:
            return None
        if self._file is None:
            from minikube.profiles.userconfig import read

            # The keys of the file do not mind upper and lower case.
            self._file = {key.lower(): value for key, value in read().items()}
        return self._file.get(flag.config_key.lower())


def environment_name(flag: str) -> str:
    return "MINIKUBE_" + flag.replace("-", "_").upper()


def _read(flag: Flag, raw: Any, where: str) -> Any:
    """A value from outside the command line; files may hold numbers, bools and lists as such."""
    if isinstance(raw, bool):
        raw = "true" if raw else "false"
    try:
        if isinstance(raw, list) and flag.kind in ("strings", "stringArray", "extra"):
            return [item for text in raw for item in parse(flag.kind, str(text))]
        if isinstance(raw, str | int | float):
            return parse(flag.kind, str(raw))
        raise BadValue(f"{type(raw).__name__} is not a {flag.kind}")
    except BadValue as error:
        raise Reason("MK_USAGE", f"{where} is not valid for --{flag.name}: {error}") from None
