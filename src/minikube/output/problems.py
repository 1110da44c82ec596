"""Everything that stands in the way, told at once: nobody likes to mend one thing only to hear of the next."""

from __future__ import annotations

from types import TracebackType

from minikube.output.reason import Reason


class Problems:
    """Collects the reasons that `with problems:` blocks end with, so that what comes after a block is looked at as well."""

    def __init__(self) -> None:
        self.found: list[Reason] = []

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None) -> bool:
        if isinstance(error, Reason):
            self.found.append(error)
        return isinstance(error, Reason)

    def refuse(self) -> None:
        """End the command with all of them, if there are any."""
        if self.found:
            raise together(self.found)


def together(reasons: list[Reason]) -> Reason:
    """One reason as it is; several as one, with id and exit code of the first, as if it had been the only one."""
    first = reasons[0]
    if len(reasons) == 1:
        return first
    lines = [f"{len(reasons)} things stand in the way:"]
    for reason in reasons:
        label = "" if reason.id == first.id else f" ({reason.id})"
        lines.append(f"    - {reason.message}{label}")
    advice = [f"    - {reason.advice}" for reason in reasons if reason.advice]
    return Reason(first.id, "\n".join(lines), advice="\n".join(("", *advice)), url=first.url, exit_code=first.exit_code)
