"""What a command is: its words, its flags, and the function that does it."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minikube.output.report import Report
    from minikube.profiles.settings import Flag, Settings

    Run = Callable[["Call"], int | None]


class Command:
    """One command as data; parsing, help, completion and documentation all read this.

    `unbuilt` says why a command that parses cannot run yet. `persistent` flags also belong to the subcommands.
    `further` gives the flags that depend on the other words.
    `report_steps` marks the commands whose `-o json` is a stream of events kept in the profile's events.json.
    """

    __slots__ = (
        "aliases",
        "arguments",
        "details",
        "examples",
        "flags",
        "further",
        "hidden",
        "keeps_empty",
        "max_arguments",
        "min_arguments",
        "name",
        "persistent",
        "report_steps",
        "run",
        "subcommands",
        "summary",
        "unbuilt",
        "uses_file",
    )

    def __init__(
        self,
        name: str,
        summary: str,
        run: Run | None = None,
        *,
        flags: Sequence[Flag] = (),
        persistent: Sequence[Flag] = (),
        further: Callable[[list[str]], Sequence[Flag]] | None = None,
        subcommands: Sequence[Command] = (),
        aliases: Sequence[str] = (),
        arguments: str = "",
        min_arguments: int = 0,
        max_arguments: int | None = None,
        details: str | Callable[[], str] = "",
        examples: Sequence[str] = (),
        unbuilt: str = "",
        hidden: bool = False,
        keeps_empty: bool = False,
        report_steps: bool = False,
        uses_file: bool = True,
    ) -> None:
        self.name, self.summary, self.run, self.flags, self.persistent = name, summary, run, flags, persistent
        self.subcommands, self.aliases, self.arguments = subcommands, aliases, arguments
        self.min_arguments, self.max_arguments = min_arguments, max_arguments
        self.details, self.examples, self.unbuilt, self.hidden = details, examples, unbuilt, hidden
        self.further = further
        self.keeps_empty, self.report_steps, self.uses_file = keeps_empty, report_steps, uses_file

    def subcommand(self, word: str) -> Command | None:
        return next((child for child in self.subcommands if word == child.name or word in child.aliases), None)


class Call:
    """One run of a command: the settings it was given, and the report it talks to."""

    __slots__ = ("_report", "command", "path", "settings")

    def __init__(self, path: str, command: Command, settings: Settings) -> None:
        self.path, self.command, self.settings = path, command, settings
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        """Made when first needed: most commands print their answer and nothing else."""
        if self._report is None:
            from minikube.output.report import make_report
            from minikube.profiles.paths import profile_directory

            file = profile_directory(self.settings.profile) / "events.json" if self.command.report_steps and self._safe_profile() else None
            self._report = make_report(self.command.name, json=self.wants_json(), events_file=file)
        return self._report

    def wants_json(self) -> bool:
        """Whether errors, too, are for a program to read."""
        if not (self.command.report_steps or self.command.name == "status"):
            return False
        from minikube.output.reason import Reason

        try:
            return str(self.settings.get("output")).lower() == "json"
        except Reason:  # a damaged config.json is the very thing to report
            return False

    def output(self, *formats: str) -> str:
        """The value of --output, refused unless it is one of these."""
        value = str(self.settings.get("output")).lower()
        if value not in formats:
            from minikube.output.reason import Reason

            valid = ", ".join(f"'{name}'" for name in formats)
            raise Reason("MK_USAGE", f"invalid output format: {value}. Valid values: {valid}")
        return value

    def _safe_profile(self) -> bool:
        name = self.settings.profile
        return bool(name) and "/" not in name and "\0" not in name and not name.startswith(".")
