"""The one error type that users see."""

from __future__ import annotations


class Reason(Exception):
    """Why a command cannot go on: what happened, what to do about it, and the exit code that says so to scripts.

    `id` and `exit_code` come from upstream's table (output/kinds.py); `advice` is the next step for the person at the keyboard.
    """

    def __init__(self, id: str, message: str, *, advice: str = "", url: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.id = id
        self.message = message
        self._advice = advice
        self._url = url
        self._exit_code = exit_code

    @property
    def exit_code(self) -> int:
        from minikube.output.kinds import KINDS

        if self._exit_code is not None:
            return self._exit_code
        return KINDS[self.id].exit_code if self.id in KINDS else 1

    @property
    def advice(self) -> str:
        from minikube.output.kinds import KINDS

        return self._advice or (KINDS[self.id].advice if self.id in KINDS else "")

    @property
    def url(self) -> str:
        from minikube.output.kinds import KINDS

        return self._url or (KINDS[self.id].url if self.id in KINDS else "")
