"""Where a command begins and ends: understand the words, run one command, turn every ending into an exit code."""

from __future__ import annotations

import os
import sys

from minikube.cli.command import Call
from minikube.cli.parser import UsageError, understand
from minikube.output.console import discard_output, forgiving, output_error
from minikube.output.reason import Reason
from minikube.profiles.settings import Settings

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from collections.abc import Callable

    from minikube.cli.parser import Invocation

_USAGE = 14
_BROKEN_PIPE = 141  # 128 + SIGPIPE: what a shell reports for a program whose reader has gone
_INTERRUPTED = 11  # as the kind MK_INTERRUPTED

# Commands that only look, or that print what the audit log itself holds.
_NOT_AUDITED = frozenset({"status", "version", "doctor", "logs", "profile", "options", "help", "completion", "__complete", "generate-docs"})


def entry() -> None:
    """The console script."""
    import atexit

    ended: list[int] = []
    atexit.register(_leave, ended)  # who is registered first is called last
    ended.append(main(sys.argv))
    sys.exit(ended[0])


def _leave(ended: list[int]) -> None:
    """There is nothing left to do: spare Python taking itself apart, which takes a tenth of a second after `start`."""
    if ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended[0])


def main(argv: list[str]) -> int:
    forgiving()
    if os.geteuid() == 0:
        from minikube.cli.forsomebody import entitled

        return _ended(lambda: entitled(lambda: _main(argv)))
    return _main(argv)


def _main(argv: list[str]) -> int:
    words = argv[1:]
    # The launcher cannot keep argv[0], so it tells the name it was called by.
    called_as = os.environ.pop("MINIKUBE_CALLED_AS", "") or argv[0]
    if called_as.rsplit("/", 1)[-1] == "kubectl":
        from minikube.cli.kubectl import as_kubectl

        return _ended(lambda: _run(as_kubectl(words)))
    return _ended(lambda: _run(words))


def _ended(work: Callable[[], int]) -> int:
    """The exit code of whatever way the work ended."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _explain(error)
    except Reason as reason:  # before there was a command that could tell it in its own way: a driver that cannot even tell its flags
        return _tell(reason)
    except BrokenPipeError:  # nothing is read any more
        discard_output()
        return _BROKEN_PIPE
    except OSError as error:  # of stdout: all others are explained where they happen
        discard_output()
        return _tell(Reason("HOST_PATH_STAT", f"standard output cannot be written: {error.strerror}"))
    except KeyboardInterrupt:
        return _INTERRUPTED


def _tell(reason: Reason) -> int:
    from minikube.output.report import make_report

    make_report("minikube").error(reason)
    return reason.exit_code


def _hear_no_more() -> None:
    """One Ctrl-C may come twice, from the terminal and through sudo; the second must not cut off the farewell."""
    while True:
        try:
            import signal

            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            continue
        return


def _run(words: list[str]) -> int:
    invocation = understand(words)
    command = invocation.command
    if command is None or invocation.given.get("help") or not (command.run or command.unbuilt):
        from minikube.cli.help import show_help

        show_help(invocation.path, command, invocation.further)
        return 0
    settings = Settings(invocation.flags, invocation.given, arguments=invocation.arguments, use_file=command.uses_file)
    call = Call(invocation.path, command, settings)
    try:
        _as_the_right_user(call)
        return _run_audited(call, invocation)
    except Reason as reason:
        return _refuse(call, reason)
    except (BrokenPipeError, UsageError):
        raise
    except KeyboardInterrupt:
        _hear_no_more()
        # Upstream has two numbers: 2 in its list of exit codes, 11 for the kind MK_INTERRUPTED that its commands end with.
        # The kind decides here as everywhere, so that text and JSON say the same.
        interrupted = Reason("MK_INTERRUPTED", "Interrupted")
        if call.wants_json():
            return _refuse(call, interrupted)
        print("\nInterrupted. " + interrupted.advice, file=sys.stderr)
        return interrupted.exit_code
    except Exception as error:  # the last resort: whatever it is, the user gets a sentence
        if isinstance(error, OSError) and not error.filename and output_error():
            raise
        from minikube.cli.crash import explain

        return _refuse(call, explain(error, call))


def _as_the_right_user(call: Call) -> None:
    """What needs no root rights runs without them, also after `sudo`; nobody works in somebody else's home by accident."""
    if os.geteuid() == 0:
        from minikube.cli.forsomebody import let_go

        let_go(call.path.partition(" ")[2])
    elif call.command.uses_file:
        from minikube.profiles.ownership import check_access

        check_access()


def _refuse(call: Call, reason: Reason) -> int:
    from minikube.output.kinds import QUOTING

    if reason.id in QUOTING:
        from minikube.output.knownproblems import explained

        reason = explained(reason)
    try:
        call.report.error(reason)
    except BrokenPipeError:
        raise
    except Exception:  # a log that cannot be written, say: the sentence must reach the user all the same
        print(f"X Exiting due to {reason.id}: {reason.message}", file=sys.stderr)
    return reason.exit_code


def _run_audited(call: Call, invocation: Invocation) -> int:
    command, settings = call.command, call.settings
    from minikube.cli import checks

    checks.arguments(call)
    if call.path.split()[1] in _NOT_AUDITED:
        return _run_logged(call)
    from minikube.cli.audit import Audit

    audit = Audit(settings, invocation.path)
    if command.name == "kubectl":
        audit.write()  # kubectl takes this process over: there is no afterwards
        return _run_logged(call)
    if command.report_steps and os.geteuid() == 0:  # for anybody else, sudo may take this process over
        audit.begin()
    try:
        return _run_logged(call)
    finally:
        if not (settings.has("purge") and settings.get("purge")):  # the log went with the rest
            audit.write()


def _run_logged(call: Call) -> int:
    command = call.command
    if command.uses_file:
        from minikube.cli.logfiles import open_logs

        open_logs(call)
    if command.unbuilt or command.run is None:
        raise Reason("MK_UNIMPLEMENTED", f"`{call.path}` is not built yet: {command.unbuilt}")
    return command.run(call) or 0


def _explain(error: UsageError) -> int:
    """cobra's words: the error, what may have been meant, and where help is."""
    lines = [f"Error: {error.message}"]
    if error.suggestions:
        lines += ["", "Did you mean this?", *(f"\t{name}" for name in error.suggestions), ""]
    lines.append(f"{error.hint} '{error.path} --help' for usage.")
    print("\n".join(lines), file=sys.stderr)
    return _USAGE
