"""The streams of a command that runs in a node: collected, connected to ours, or a terminal."""

from __future__ import annotations

import os
import select
import signal
import stat
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import Any

from minikube.node.control import CommandTimedOut, ControlUnreachable, Conversation
from minikube.output.reason import Reason

CHUNK = 1 << 16
MOST_IN_A_PIPE = 1 << 20  # unless the host's root allows more
MOST_OUTPUT = 256 << 20  # that is kept in memory
END_OF_INPUT = b"\x04"


class Flow:
    """Bytes on their way from one descriptor to another, or with a buffer as sink, to memory."""

    def __init__(self, source: int, sink: int | bytearray, *, at_end: Callable[[], None] = lambda: None) -> None:
        self.source, self.sink, self.pending, self.open = source, sink, b"", True
        self.error: OSError | None = None
        self._at_end = at_end

    def read(self) -> bool:
        """Move one chunk; False when there is none now or never again."""
        try:
            data = os.read(self.source, CHUNK)
        except BlockingIOError:
            return False
        except OSError as error:
            data, self.error = b"", error  # a pty says EIO when nobody has it open inside any more
        if isinstance(self.sink, bytearray):
            self.sink += data
            if len(self.sink) > MOST_OUTPUT:
                raise Reason("GUEST_STATUS", f"A command in the node wrote more than {MOST_OUTPUT >> 20} MB", advice="See `minikube ssh`.")
        else:
            self.pending = data
            self.write()
        if not data:
            self.close()
        return bool(data)

    def write(self) -> None:
        assert isinstance(self.sink, int)  # noqa: S101
        try:
            self.pending = self.pending[os.write(self.sink, self.pending) :] if self.pending else b""
        except BlockingIOError:
            pass
        except OSError as error:
            self.pending, self.error = b"", error
            self.close()

    def finish(self) -> None:
        """Move what is there now; background processes may keep the source open, and write to it, for ever."""
        for _ in range(-(-MOST_IN_A_PIPE // CHUNK) + 1):
            while self.pending and isinstance(self.sink, int):
                select.select([], [self.sink], [])
                self.write()
            if not (self.open and self.read()):
                return

    def close(self) -> None:
        if self.open:
            self.open = False
            self._at_end()


def relay(
    conversation: Conversation, incoming: list[Flow], outgoing: list[Flow], *, deadline: float | None = None, idle: float | None = None
) -> int:
    """Move bytes both ways until the command has ended and everything it wrote is out; its exit code."""
    while True:
        if idle is not None:
            deadline = time.monotonic() + idle
        flows = [flow for flow in (*incoming, *outgoing) if flow.open or flow.pending]
        readable = {flow.source: flow for flow in flows if flow.open and not flow.pending}
        writable = {flow.sink: flow for flow in flows if flow.pending and isinstance(flow.sink, int)}
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        talk = conversation.socket.fileno()
        heard = conversation.has_heard()
        ready, unblocked, _ = select.select([talk, *readable], list(writable), [], 0 if heard else left)
        if heard or talk in ready:
            code = conversation.exit_code()
            for flow in outgoing:
                flow.finish()
            return code
        if deadline is not None and time.monotonic() >= deadline and not (idle is not None and (ready or unblocked)):
            raise CommandTimedOut
        for sink in unblocked:
            writable[sink].write()
        for source in ready:
            readable[source].read()


def run(conversation: Conversation, request: Mapping[str, Any], *, input: bytes | None, timeout: float | None) -> tuple[int, bytes, bytes]:
    """Run to the end and give exit code, stdout and stderr."""
    deadline = None if timeout is None else time.monotonic() + timeout
    stdout, stderr = bytearray(), bytearray()
    with ExitStack() as stack:
        theirs, ours = _pipes(stack, 2)
        # A file in memory: the command reads as much of it as it likes, when it likes.
        with closing(_Descriptor(os.memfd_create("stdin"))) as stdin:
            with open(stdin.number, "wb", closefd=False) as stream:
                stream.write(input or b"")
            os.lseek(stdin.number, 0, os.SEEK_SET)
            conversation.ask(request, [stdin.number, theirs[0].number, theirs[1].number])
        for end in theirs:
            end.close()
        conversation.socket.settimeout(None)
        code = relay(conversation, [], [Flow(ours[0].number, stdout), Flow(ours[1].number, stderr)], deadline=deadline)
    return code, bytes(stdout), bytes(stderr)


def transfer(
    conversation: Conversation, request: Mapping[str, Any], *, source: int | None, sink: int | None, idle: float | None = None
) -> tuple[int, bytes]:
    """Run with a file of ours as stdin, stdout or both, through pipes: the node never holds the file itself.

    Gives exit code and stderr; OSError when the file here cannot be read or written.
    """
    errors = bytearray()
    with ExitStack() as stack:
        theirs, ours = _pipes(stack, 2)
        inside, outside = (stack.enter_context(closing(_Descriptor(end))) for end in os.pipe())
        os.set_blocking(outside.number, False)
        # A pipe is handed over as it is: nobody has to copy what goes through it.
        is_pipe = source is not None and stat.S_ISFIFO(os.fstat(source).st_mode)
        stdin = source if is_pipe and source is not None else inside.number
        conversation.ask(request, [stdin, theirs[0].number, theirs[1].number])
        for end in (inside, *theirs):
            end.close()
        conversation.socket.settimeout(None)
        incoming = [] if source is None or is_pipe else [Flow(source, outside.number, at_end=outside.close)]
        if not incoming:
            outside.close()
        # Closed at a failure, so that the command hears of it and ends.
        result = Flow(ours[0].number, bytearray() if sink is None else sink, at_end=ours[0].close)
        code = relay(conversation, incoming, [result, Flow(ours[1].number, errors)], idle=idle)
        for flow in (result, *incoming):
            if flow.error is not None and not isinstance(flow.error, BrokenPipeError):
                raise flow.error
    return code, bytes(errors)


def attach(conversation: Conversation, request: Mapping[str, Any]) -> int:
    """Run on our own streams. A pipe to read from is handed over: what the command leaves in it is for whoever reads next.

    Nothing else enters the node: what is in there could type on a terminal, open a file again for whatever its mode allows, and write to
    a pipe when the command has long ended.
    """
    incoming, outgoing, handed = list[Flow](), list[Flow](), list[int]()
    with ExitStack() as stack:
        temporary: list[_Descriptor] = []
        for number in range(3):
            mode = os.fstat(number).st_mode
            if number == 0 and stat.S_ISFIFO(mode):
                handed.append(number)
                continue
            source, sink = (stack.enter_context(closing(_Descriptor(end))) for end in os.pipe())
            inside, outside = (source, sink) if number == 0 else (sink, source)
            os.set_blocking(outside.number, False)
            if number == 0:
                incoming.append(Flow(0, sink.number, at_end=sink.close))
            else:
                outgoing.append(Flow(source.number, number, at_end=source.close))
            handed.append(inside.number)
            temporary.append(inside)
        conversation.ask(request, handed)
        for end in temporary:
            end.close()
        conversation.socket.settimeout(None)
        with _forwarded_signals(conversation):
            return relay(conversation, incoming, outgoing)


def attach_terminal(conversation: Conversation, request: Mapping[str, Any]) -> int:
    """Run on a terminal of the node, shown on ours: its keys, its window size, its colours."""
    is_terminal = os.isatty(0)
    window = termios.tcgetwinsize(0) if is_terminal else (24, 80)
    env = {"TERM": os.environ.get("TERM", "dumb"), **request["env"]}
    conversation.ask({**request, "env": env, "tty": True, "window": window})
    conversation.socket.settimeout(None)
    if not conversation.descriptors or not _is_terminal_of_a_node(conversation.descriptors[0]):
        raise ControlUnreachable(conversation.path, "it gave no terminal")
    master = conversation.descriptors.pop()
    os.set_blocking(master, False)

    def end_input() -> None:
        if not is_terminal:
            os.write(master, END_OF_INPUT)

    with closing(_Descriptor(master)), _raw_terminal(master) if is_terminal else ExitStack():
        return relay(conversation, [Flow(0, master, at_end=end_input)], [Flow(master, 1)])


def _is_terminal_of_a_node(descriptor: int) -> bool:
    """The master of a pty, and nothing else: what is typed is written to it."""
    about = os.fstat(descriptor)
    return stat.S_ISCHR(about.st_mode) and os.major(about.st_rdev) in (5, *range(128, 136)) and os.isatty(descriptor)


class _Descriptor:
    """A descriptor that can be closed twice."""

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        if self.number >= 0:
            os.close(self.number)
            self.number = -1


def _pipes(stack: ExitStack, count: int) -> tuple[list[_Descriptor], list[_Descriptor]]:
    """Pipes out of the node: the ends to hand over, and ours."""
    theirs, ours = [], []
    for _ in range(count):
        source, sink = (stack.enter_context(closing(_Descriptor(end))) for end in os.pipe())
        os.set_blocking(source.number, False)
        ours.append(source)
        theirs.append(sink)
    return theirs, ours


@contextmanager
def _handled(handlers: Mapping[int, Callable[[int, object], None]]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _forwarded_signals(conversation: Conversation) -> AbstractContextManager[None]:
    def forward(number: int, _frame: object) -> None:
        conversation.say({"signal": number})

    return _handled(dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGQUIT), forward))


@contextmanager
def _raw_terminal(master: int) -> Iterator[None]:
    """Our terminal passes every key on and follows its window; afterwards it is as it was, whatever happens."""

    def resize(_number: int, _frame: object) -> None:
        termios.tcsetwinsize(master, termios.tcgetwinsize(0))

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = termios.tcgetattr(0)
    with _handled({signal.SIGWINCH: resize, signal.SIGTERM: leave, signal.SIGHUP: leave}):
        try:
            tty.setraw(0, termios.TCSADRAIN)
            yield
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
