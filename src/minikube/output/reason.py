"""The one error type that users see."""

from __future__ import annotations


class Reason(Exception):
    """Why a command cannot go on: what happened, what to do about it, and the exit code that says so to scripts.

    `id` and `exit_code` come from upstream's table (output/kinds.py); `advice` is the next step for the person at the keyboard.
    `evidence` is what other programs said: output/knownproblems.py looks for the cause in it. `issues` are upstream's, by number.
    """

    evidence = ""

    def __init__(
        self, id: str, message: str, *, advice: str = "", url: str = "", exit_code: int | None = None, issues: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message)
        self.id = id
        self.message = message
        self._advice = advice
        self._url = url
        self._exit_code = exit_code
        self.issues = tuple(f"https://github.com/kubernetes/minikube/issues/{number}" for number in issues)

    @property
    def exit_code(self) -> int:
        from minikube.output.kinds import kind_of

        return kind_of(self.id).exit_code if self._exit_code is None else self._exit_code

    @property
    def advice(self) -> str:
        from minikube.output.kinds import kind_of

        return self._advice or kind_of(self.id).advice

    @property
    def url(self) -> str:
        from minikube.output.kinds import kind_of

        return self._url or kind_of(self.id).url
