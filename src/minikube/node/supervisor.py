# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH118, PTH120, PTH123, PTH208, SIM105, S606
"""Pid 1 of a node: starts services, restarts them, keeps their logs, reaps, answers on a socket, ends everything in order.

Runs inside the node, as places.py says: `supervisor.py /etc/minikube/node.json`. One file, standard library only, and of that only what is
quick to import (no pathlib, no contextlib): every service waits for it. The idea: one loop, no threads; after every event each service,
each connection and the shutdown look at the world, make their next move (`advance`) and say when they want to look again.

The metadata file; only `name` and a service's `name` and `argv` have no default:
  name, hostname     of the node; the hostname is set when running as pid 1
  control_socket     "/run/minikube/control.sock"
  log_directory      "/var/log/minikube": <service>.log, setup.log, supervisor.log
  log_limit          10485760: bytes before a log is rotated; three old ones are kept
  setup              commands run once, in order, before the services: [[argv], ...] or [{"argv": [...], "input": "text for stdin"}, ...]
  services           [{"name": "kubelet", "argv": [...], "env": {}, "after": [], "kind": "daemon" or "oneshot",
                       "ready": null, {"socket": path} or {"file": path}, "stop_signal": "SIGTERM", "stop_timeout": 5.0, "autostart": true,
                       "every": 0.0}]
                     `after` names services that must be ready before this one starts (a daemon: its socket accepts or its file exists, or,
                     without `ready`, it was started; a oneshot: it ended with 0) or absolute paths that must exist. Shutdown goes the
                     other way round. A oneshot with `every` runs that many seconds after the node started, and again that long after it
                     ended well. An `argv` that begins with the path of a Python file is that module's `main`, with the rest as its
                     arguments, in a copy of this process: it has Python up already.
  restart            {"first": 0.2, "longest": 10.0}: back-off in seconds, doubling, forgotten once a service ran for 30 s
  shutdown_timeout   10.0: what still lives then is killed
  drain_before       []: before these services (the container runtime) are stopped, containers get SIGTERM ...
  drain_timeout      5.0: ... and this many seconds to end
  drain_last         []: names of processes (the database) that are told only when all others have ended, and get two seconds more
  drain_briefly      []: names of processes (the API server, who has nothing to lose but time) that are ended after 0.4 s of those
  unhurried          {}: names of processes, and by how many milliseconds their timers may be late once they run; late timers ring
                     together, and a process that has dozens of them (every Kubernetes component) sleeps between

The control socket takes one JSON line per connection, and answers {"ok": true, ...} or {"ok": false, "error": text}:
  status             uptime, stopping, setup; services: pid, restarts, since, last_exit, state (waiting, starting, running, ready, stopping,
                     stopped; backoff: a daemon ended, failed: a oneshot ended, both are tried again; done: a oneshot ended well), alike
                     (how often in a row it has failed with the same exit code), failing (for how many seconds), words (its last ones)
  start stop restart {"names": [...]}; `stop` answers when they have ended
  wait               {"names": [...], "timeout": 60.0}: answers when they are ready; without names: all that should run
  reload             reads the services and timings again; a broken file changes nothing
  shutdown           the connection ends when the supervisor does
  exec               {"argv": [...], "env": {}, "cwd": "/", "user": null, "tty": false, "window": [rows, columns]}: stdin, stdout and stderr
                     come as file descriptors with the request, or with `tty` the pty's master goes back with the answer
                     {"ok": true, "pid": n}; {"signal": n} may follow; last comes {"exit": code}. When the client goes away the process
                     group is ended.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time

TYPE_CHECKING = False  # typing's own takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

NEVER = float("inf")
LOGS_KEPT = 3
WORDS_KEPT = 2000
STEADY_AFTER = 30.0
REQUEST_LIMIT, REQUEST_TIMEOUT, CONNECTION_LIMIT = 1 << 20, 5.0, 100
HANGUP_GRACE = 2.0
SWEEP_EVERY = 0.03
BRIEFLY = 0.4
SLACK_EVERY = 15.0
# They reap and hold containers: they end after them, not with them.
CONTAINER_KEEPERS = ("containerd-shim", "conmon", "pause")
SHUTDOWN_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGPWR)

NODE: dict[str, Any] = {"name": "", "hostname": "", "control_socket": "/run/minikube/control.sock", "log_directory": "/var/log/minikube"}
NODE |= {"log_limit": 10 << 20, "setup": [], "services": [], "restart": {}}
NODE |= {"shutdown_timeout": 10.0, "drain_before": [], "drain_timeout": 5.0, "drain_last": [], "drain_briefly": []}
NODE |= {"unhurried": {}}
TEXTS = ("argv", "after", "env", "drain_before", "drain_last", "drain_briefly")
RESTART: dict[str, Any] = {"first": 0.2, "longest": 10.0}
SETUP: dict[str, Any] = {"argv": [], "input": ""}
SERVICE: dict[str, Any] = {"name": "", "argv": [], "env": {}, "after": [], "kind": "daemon", "ready": None, "autostart": True}
SERVICE |= {"stop_signal": "SIGTERM", "stop_timeout": 5.0, "every": 0.0}


def read_metadata(path: str) -> dict[str, Any]:
    """The metadata with its defaults; ValueError or OSError when it cannot be used."""
    with open(path, encoding="utf-8") as stream:
        node = _with_defaults(json.load(stream), NODE)
    node["restart"] = _with_defaults(node["restart"], RESTART)
    node["setup"] = [_with_defaults(step if isinstance(step, dict) else {"argv": step}, SETUP) for step in node["setup"]]
    node["services"] = [_with_defaults(service, SERVICE) for service in node["services"]]
    if not all(isinstance(milliseconds, int) for milliseconds in node["unhurried"].values()):
        raise ValueError(f"unhurried cannot be {node['unhurried']!r:.200}")
    names = [service["name"] for service in node["services"]]
    for service in node["services"]:
        name, ready = service["name"], service["ready"]
        if not name.replace("-", "").replace("_", "").isalnum() or name in ("setup", "supervisor") or names.count(name) > 1:
            raise ValueError(f"{name!r} cannot be the name of a service, or is there twice")
        if service["kind"] not in ("daemon", "oneshot") or service["stop_signal"] not in signal.Signals.__members__:
            raise ValueError(f"{name}: kind or stop_signal is unknown")
        if ready is not None and not (isinstance(ready, dict) and [*ready] in (["socket"], ["file"]) and _all_strings(ready)):
            raise ValueError(f"{name}: ready is neither a socket nor a file")
    left = {service["name"]: {other for other in service["after"] if not other.startswith("/")} for service in node["services"]}
    while left:
        startable = [name for name, others in left.items() if not others & left.keys()]
        if not startable or any(others - set(names) for others in left.values()):
            raise ValueError(f"services that wait for each other or for an unknown one: {', '.join(left)}")
        left = {name: others for name, others in left.items() if name not in startable}
    return node


def _with_defaults(given: object, defaults: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, dict) or given.keys() - defaults.keys():
        raise ValueError(f"not an object, or with unknown fields: {given!r:.200}")
    for key, value in given.items():
        default = defaults[key]
        fits = default is None or isinstance(value, int | float if isinstance(default, float) else type(default))
        if not fits or (key in TEXTS and not _all_strings(value)):
            raise ValueError(f"{key} cannot be {value!r:.200}")
    if "argv" in defaults and not given.get("argv"):
        raise ValueError(f"argv is missing: {given!r:.200}")
    return {**defaults, **given}


def _all_strings(given: Any) -> bool:
    return all(isinstance(member, str) for member in (*given, *(given.values() if isinstance(given, dict) else ())))


def spawn(
    argv: list[str],
    stdio: Sequence[int],
    *,
    env: dict[str, str],
    cwd: str = "/",
    user: str | None = None,
    tty: bool = False,
    module: bool = False,
) -> int:
    """Start a process in a session of its own; what fails before it runs ends it with 127 or 126 and a line on its stderr."""
    # Blocked over the fork: the child shares our wake-up pipe, and a signal for it must not look like one for us.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid != 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if pid != 0:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        # All of them: who started the node may have ignored some (`nohup` does), and that would be inherited for ever.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        if tty:
            os.login_tty(stdio[0])
        else:
            os.setsid()
            for target, source in enumerate(stdio):
                os.dup2(source, target)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.chdir(cwd)
        if user is not None:
            import pwd

            entry = pwd.getpwnam(user)
            os.initgroups(user, entry.pw_gid)
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            env = {"HOME": entry.pw_dir, "USER": user, **env}
        if module:
            os._exit(_run_module(argv, env))
        os.execvpe(argv[0], argv, {**os.environ, **env})
    except BaseException as error:  # whatever it is, two supervisors must not run
        try:
            why = getattr(error, "strerror", None) or error
            os.write(2, f"{argv[0]} (in {cwd}): {why}\n".encode(errors="replace"))
        finally:
            os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _run_module(argv: list[str], env: Mapping[str, str]) -> int:
    """In a process that is a copy of the supervisor, and has nothing more to do with it."""
    os.closerange(3, 1 << 20)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as in any Python: it gets to know of it by an exception
    os.environ.update(env)
    directory, _, name = argv[0].removesuffix(".py").rpartition("/")
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write(name)  # for whoever lists processes
    sys.path[:0] = [directory]
    try:
        module = __import__(name)
    except Exception:  # what Python kept compiled may be damaged, and it looks at the first bytes of that alone
        import importlib.util

        os.unlink(importlib.util.cache_from_source(argv[0]))
        module = __import__(name)
    code = module.main(*argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    return int(code or 0)


def kill(send: Callable[[int, int], None], pid: int, number: int) -> None:
    """`os.kill` or `os.killpg`, where it does not matter if the process has ended already."""
    try:
        send(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


class Log:
    """A log file behind a pipe. Rotates at line ends; a full disk costs lines, never the supervisor."""

    def __init__(self, directory: str, name: str, limit: int) -> None:
        self.path, self.limit = os.path.join(directory, f"{name}.log"), limit
        self.file, self.size, self.lost = -1, 0, 0
        self.words = b""  # the last ones
        self.source, self.sink = os.pipe()
        os.set_blocking(self.source, False)

    def collect(self) -> bool:
        """Take over what is in the pipe, at most 64 KiB; False when there is nothing."""
        try:
            self.write(os.read(self.source, 1 << 16))
        except BlockingIOError:
            return False
        return True

    def write(self, data: bytes) -> None:
        self.words = (self.words + data)[-WORDS_KEPT:]
        end = data.find(b"\n") + 1
        if self.size >= self.limit and (end or self.size >= 2 * self.limit):
            self._append(data[:end])
            self._rotate()
            data = data[end:]
        self._append(data)

    def _append(self, data: bytes) -> None:
        try:
            if self.file < 0:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
                self.size = os.fstat(self.file).st_size
            if self.lost:
                os.write(self.file, b"\n[%d bytes are missing here: they could not be written]\n" % self.lost)
                self.lost = 0
            while data:
                written = os.write(self.file, data)
                self.size += written
                data = data[written:]
        except OSError:
            self.lost += len(data)

    def _rotate(self) -> None:
        try:
            for age in range(LOGS_KEPT, 0, -1):
                older = f"{self.path}.{age - 1}" if age > 1 else self.path
                if os.path.exists(older):
                    os.replace(older, f"{self.path}.{age}")
            os.close(self.file)
            self.file, self.size = -1, 0
        except OSError:
            self.size = 0  # the next try is a whole log later

    def close(self) -> None:
        while self.collect():
            pass
        for descriptor in (self.source, self.sink, self.file):
            if descriptor >= 0:
                os.close(descriptor)


class Service:
    """One service: what it should be (`spec`, `wanted`) and what it is (`state`, `pid`)."""

    def __init__(self, supervisor: Supervisor, spec: dict[str, Any]) -> None:
        self.supervisor, self.spec, self.name = supervisor, spec, str(spec["name"])
        self.wanted, self.removed = bool(spec["autostart"]), False
        self.pid = self.restarts = 0
        self.last_exit: int | None = None
        self.began = self.due = self.delay = 0.0
        self.alike, self.failing_since, self.words = 0, 0.0, ""
        self.log = supervisor.open_log(self.name)
        self.become("waiting" if self.wanted else "stopped")
        if self.wanted and spec["every"]:
            self._rest(time.monotonic())

    def become(self, state: str) -> None:
        # `since` is for people; whatever waits goes by the clock that nobody can set.
        self.state, self.since, self.became, self.supervisor.changed = state, time.time(), time.monotonic(), True

    def _rest(self, now: float) -> None:
        """A oneshot is done; one that has to run again and again knows when."""
        self.due = now + self.spec["every"] if self.spec["every"] else NEVER
        self.alike = 0
        self.become("done")

    @property
    def satisfied(self) -> bool:
        """Ready in the sense of `after` and `wait`."""
        return self.state in ("ready", "done") or (self.state == "running" and self.spec["kind"] == "daemon")

    def advance(self, now: float) -> float:
        """Make the next move; the time when to look again."""
        if self.state in ("backoff", "failed", "done") and now >= self.due:
            self.become("waiting")
        if self.state == "waiting" and self.supervisor.may_start(self):
            self._launch(now)
        if self.state == "starting" and now >= self.due:
            if _answers(self.spec["ready"]):
                self.become("ready")
            # Looking every 2 % of the time it has taken so far: 10 ms at first, 200 ms in the end.
            self.due = now + min(0.2, max(0.01, (now - self.began) / 50))
        if self.state == "stopping" and now >= self.due:
            kill(os.killpg, self.pid, signal.SIGKILL)
            self.due = now + 1.0
        if self.state == "waiting":
            return now + min(0.2, max(0.01, (now - self.became) / 50))
        return self.due if self.state in ("backoff", "failed", "done", "starting", "stopping") else NEVER

    def _launch(self, now: float) -> None:
        self.began = self.due = now
        self.log.words = b""
        try:
            argv, streams = self.spec["argv"], (self.supervisor.null, self.log.sink, self.log.sink)
            self.pid = spawn(argv, streams, env=self.spec["env"], module=argv[0].endswith(".py"))
        except OSError as error:
            self.supervisor.note(f"{self.name} cannot be started: {error.strerror}")
            before, self.last_exit = self.last_exit, 126
            self._fail(now, before)
            return
        self.supervisor.children[self.pid] = self._ended
        self.supervisor.note(f"{self.name} started, pid {self.pid}")
        self.become("starting" if self.spec["ready"] else "running")

    def _ended(self, code: int) -> None:
        now = time.monotonic()
        if self.spec["kind"] == "daemon":
            kill(os.killpg, self.pid, signal.SIGKILL)  # children it left behind would hold its ports and locks
        self.supervisor.note(f"{self.name} ended, pid {self.pid}, exit code {code}")
        self.pid = 0
        before, self.last_exit = self.last_exit, code
        if not self.wanted:
            self.become("stopped")
        elif self.state == "stopping":
            self.become("waiting")
        elif self.spec["kind"] == "oneshot" and code == 0:
            self._rest(now)
        else:
            self._fail(now, before)

    def _fail(self, now: float, before: int | None) -> None:
        """Count how often it has ended in the same way, keep what it said, and try again later."""
        while self.log.collect():
            pass
        self.words = self.log.words.decode(errors="replace")
        if not self.alike or self.last_exit != before or now - self.began >= STEADY_AFTER:
            self.alike, self.failing_since = 0, now
        self.alike += 1
        self._back_off(now)

    def _back_off(self, now: float) -> None:
        rule = self.supervisor.metadata["restart"]
        self.delay = min(self.delay * 2, rule["longest"]) if self.delay and now - self.began < STEADY_AFTER else rule["first"]
        self.due = now + self.delay
        self.restarts += 1
        self.become("failed" if self.spec["kind"] == "oneshot" else "backoff")

    def start(self) -> None:
        self.wanted, self.delay = True, 0.0
        if self.state in ("stopped", "backoff", "failed"):
            self.become("waiting")

    def stop(self, deadline: float = NEVER) -> None:
        self.wanted = False
        self._interrupt(deadline)

    def restart(self) -> None:
        self.start()
        self._interrupt()

    def _interrupt(self, deadline: float = NEVER) -> None:
        if self.pid and self.state != "stopping":
            self.due = min(time.monotonic() + self.spec["stop_timeout"], deadline)
            self.become("stopping")
            kill(os.kill, self.pid, signal.Signals[self.spec["stop_signal"]])
        elif not self.pid:
            self.become("waiting" if self.wanted else "stopped")

    def report(self) -> dict[str, Any]:
        about = {"state": self.state, "pid": self.pid or None, "restarts": self.restarts, "since": self.since, "last_exit": self.last_exit}
        if not self.alike:
            return about
        return about | {"alike": self.alike, "failing": time.monotonic() - self.failing_since, "words": self.words}


def _answers(check: Mapping[str, str]) -> bool:
    if "file" in check:
        return os.path.exists(check["file"])
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        return probe.connect_ex(check["socket"]) == 0


class Sweep:
    """Ends processes that are no services: SIGTERM, then SIGKILL at `until`; those named in `last` after all others. Over two seconds
    later in any case."""

    def __init__(
        self, supervisor: Supervisor, until: float, *, spare: tuple[str, ...], last: Sequence[str] = (), briefly: Sequence[str] = ()
    ) -> None:
        self.supervisor, self.until, self.spare, self.last, self.briefly = supervisor, until, spare, last, briefly
        self.told: dict[int, float] = {}
        self.over = False

    def advance(self, now: float) -> float:
        found = list(self._strangers())
        first = [stranger for stranger in found if stranger[2] not in self.last]
        for pid, catches, name in first or found:
            hasty = name in self.briefly and now >= self.told.get(pid, now) + BRIEFLY
            if hasty or (now >= self.until and first):
                kill(os.kill, pid, signal.SIGKILL)
            elif pid not in self.told:
                self.told[pid] = now
                kill(os.kill, pid, signal.SIGTERM if catches else signal.SIGKILL)
        self.over = not found or now >= self.until + 2.0
        return now + SWEEP_EVERY

    def _strangers(self) -> Iterator[tuple[int, bool, str]]:
        """Processes to end, if SIGTERM can do it, and their names. Of a container only its first: the kernel ends the others with it."""
        me, table = os.getpid(), {int(entry): _look_at(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
        services = {service.pid for service in self.supervisor.services.values() if service.pid}
        for pid, process in table.items():
            if process is None or pid == me:
                continue
            name, _, session, innermost, catches = process
            if session in services or name.startswith(self.spare) or innermost not in (pid, 1):
                continue
            ancestor = pid
            while ancestor != me and (above := table.get(ancestor)):
                ancestor = above[1]
            if me in (1, ancestor):
                yield pid, catches or innermost == pid, name


def _look_at(pid: int) -> tuple[str, int, int, int, bool] | None:
    """Name, parent, session, pid in its own namespace, and if it takes SIGTERM; None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as stream:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
        # The kernel drops SIGTERM for the first process of a namespace unless that catches it, or blocks it to wait for it.
        takes = (int(fields["SigCgt"], 16) | int(fields["SigBlk"], 16)) >> (signal.SIGTERM - 1) & 1
        found = (fields["Name"], int(fields["PPid"]), os.getsid(pid), int(fields["NSpid"].split()[-1]), bool(takes))
        return None if fields["State"].startswith(("Z", "X")) else found
    except (OSError, KeyError):
        return None


class Slack:
    """Gives the processes named `unhurried` a timer slack, twice each: threads inherit it, but some are just being made.

    From outside and later, because a process would hand it on to its children, and a user's containers keep the kernel's own.
    """

    def __init__(self) -> None:
        self.due = time.monotonic() + SLACK_EVERY
        self.given: dict[str, int] = {}

    def advance(self, now: float, slacks: Mapping[str, int]) -> float:
        if now >= self.due and slacks:
            self.due = now + SLACK_EVERY
            known = {name[:15]: slack for name, slack in slacks.items()}  # as much of a name as the kernel keeps
            found = {entry: known.get(_name_of(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
            for pid, slack in found.items():
                if slack is not None and self.given.get(pid, 0) < 2:
                    _give_slack(pid, slack)
            self.given = {pid: self.given.get(pid, 0) + 1 for pid, slack in found.items() if slack is not None}
        return self.due if slacks else NEVER


def _name_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
            return stream.read().rstrip("\n")
    except OSError:
        return ""


def _give_slack(pid: str, milliseconds: int) -> None:
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{thread}/timerslack_ns", "wb") as slack:
                slack.write(b"%d" % (milliseconds * 1_000_000))
    except OSError:  # gone, or the kernel has no such file, or we have no right to: it only costs some CPU
        pass


class Connection:
    """One client of the control socket, with its one request."""

    def __init__(self, supervisor: Supervisor, peer: socket.socket) -> None:
        self.supervisor, self.peer = supervisor, peer
        self.buffer = b""
        self.descriptors: list[int] = []
        self.deadline = time.monotonic() + REQUEST_TIMEOUT
        self.condition: Callable[[], bool] | None = None
        self.asked = self.closed = False
        self.pid = 0
        peer.setblocking(False)
        supervisor.selector.register(peer, selectors.EVENT_READ, self.receive)

    def receive(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self.peer, 1 << 16, 3)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        for descriptor in descriptors:  # recv_fds drops its flags argument: no MSG_CMSG_CLOEXEC
            os.set_inheritable(descriptor, False)
        self.descriptors += descriptors
        self.buffer += data
        while b"\n" in self.buffer and not self.closed:
            line, _, self.buffer = self.buffer.partition(b"\n")
            self._take(line)
        if len(self.buffer) > REQUEST_LIMIT or len(self.descriptors) > 3:
            self.answer({"ok": False, "error": "the request is too large"})
        if not data:
            self.close()

    def _take(self, line: bytes) -> None:
        try:
            request = json.loads(line)
            if self.pid:
                kill(os.killpg, self.pid, signal.Signals(request["signal"]))
            elif not self.asked:
                self.asked, self.deadline = True, NEVER
                self._perform(request["verb"], request)
        except Exception as error:  # no request may end pid 1
            self.answer({"ok": False, "error": f"the request cannot be understood: {type(error).__name__}: {error}"[:500]})

    def _perform(self, verb: str, request: dict[str, Any]) -> None:
        node = self.supervisor
        if verb == "status":
            self.answer(node.report())
        elif verb in ("start", "stop", "restart", "wait"):
            names = request.get("names") or [service.name for service in node.services.values() if service.wanted]
            services = [node.services[name] for name in names]
            if verb == "wait":
                self._answer_when(lambda: all(service.satisfied for service in services), min(86400.0, float(request.get("timeout", 60.0))))
                return
            if node.deadline < NEVER:
                raise ValueError("the node is shutting down")
            for service in services:
                {"start": service.start, "stop": service.stop, "restart": service.restart}[verb]()
            self._answer_when(lambda: verb != "stop" or not any(service.pid for service in services), NEVER)
        elif verb == "reload":
            self.answer({"ok": True, **node.reload()})
        elif verb == "shutdown":
            node.begin_shutdown()
            self.answer({"ok": True}, last=False)
        elif verb == "exec":
            self._execute(request)
        else:
            raise ValueError(f"there is no verb {verb!r:.100}")

    def _answer_when(self, condition: Callable[[], bool], timeout: float) -> None:
        self.condition, self.deadline, self.supervisor.changed = condition, time.monotonic() + timeout, True

    def _execute(self, request: dict[str, Any]) -> None:
        argv, env, tty = request["argv"], request.get("env") or {}, bool(request.get("tty"))
        if not argv or not _all_strings(argv) or not _all_strings(env) or self.supervisor.deadline < NEVER:
            raise ValueError("argv and env must be strings, and the node must not be shutting down")
        if tty:
            import termios

            self._drop()
            terminal, inside = os.openpty()
            self.descriptors = [inside, terminal]
            termios.tcsetwinsize(inside, tuple(request.get("window") or (24, 80)))
        elif len(self.descriptors) != 3 or any(map(os.isatty, self.descriptors)):
            # A terminal of the host inside the node would let the node type on it (TIOCSTI).
            raise ValueError("exec needs stdin, stdout and stderr, and none of them may be a terminal")
        self.pid = spawn(argv, self.descriptors, env=env, cwd=request.get("cwd") or "/", user=request.get("user"), tty=tty)
        self.supervisor.children[self.pid] = self._ended
        self.answer({"ok": True, "pid": self.pid}, self.descriptors[1:] if tty else (), last=False)
        self._drop()

    def _ended(self, code: int) -> None:
        if self.closed:
            kill(os.killpg, self.pid, signal.SIGKILL)
        self.pid, self.deadline = 0, NEVER
        self.answer({"exit": code})

    def advance(self, now: float) -> float:
        if self.condition is not None and self.condition():
            self.answer({"ok": True})
        elif now >= self.deadline:
            self.deadline = NEVER
            if self.closed:
                kill(os.killpg, self.pid, signal.SIGKILL)
            else:
                self.answer({**self.supervisor.report(), "ok": False, "error": "not in time"})
        return self.deadline

    def answer(self, message: Mapping[str, Any], descriptors: Sequence[int] = (), *, last: bool = True) -> None:
        if not self.closed:
            try:
                socket.send_fds(self.peer, [json.dumps(message).encode() + b"\n"], descriptors)
            except OSError:
                last = True  # the client is gone, or does not read
            if last:
                self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed, self.condition, self.supervisor.changed = True, None, True
            self.supervisor.selector.unregister(self.peer)
            self.peer.close()
            self._drop()
            if self.pid:
                kill(os.killpg, self.pid, signal.SIGHUP)
                self.deadline = time.monotonic() + HANGUP_GRACE

    def _drop(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


class Supervisor:
    """The node as a whole: the loop, and what belongs to no single service."""

    def __init__(self, path: str) -> None:
        self.path, self.metadata = path, read_metadata(path)
        self.began = time.monotonic()
        self.selector = selectors.DefaultSelector()
        self.children: dict[int, Callable[[int], None]] = {}
        self.null = os.open("/dev/null", os.O_RDWR)
        self.changed, self.finished, self.deadline = True, False, NEVER
        self.drain: Sweep | None = None
        self.slack = Slack()
        self.rest: Sweep | None = None
        self.own_log, self.setup_log = self.open_log("supervisor"), self.open_log("setup")
        self.setup, self.setup_done = list(self.metadata["setup"]), False
        self.setup_failures: list[dict[str, Any]] = []
        self.services = {spec["name"]: Service(self, spec) for spec in self.metadata["services"]}
        self.connections: list[Connection] = []

    def open_log(self, name: str) -> Log:
        log = Log(self.metadata["log_directory"], name, self.metadata["log_limit"])
        self.selector.register(log.source, selectors.EVENT_READ, log.collect)
        return log

    def note(self, message: str) -> None:
        self.own_log.write(
            f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}.{int(time.time() % 1 * 1000):03d}Z {message}\n".encode(errors="replace")
        )

    def run(self) -> None:
        self._catch_signals()
        self._listen()
        self._set_up()
        while not self.finished:
            try:
                for key, _ in self.selector.select(max(0.0, self._advance() - time.monotonic())):
                    key.data()
            except Exception as error:  # a defect must not end pid 1, nor keep a core busy
                self.note(f"defect: {type(error).__name__}: {error}")
                time.sleep(0.1)
        for log in (*(service.log for service in self.services.values()), self.setup_log, self.own_log):
            log.close()

    def _advance(self) -> float:
        due = 0.0
        while self.changed:
            self.changed = False
            now = time.monotonic()
            for service in list(self.services.values()):
                if service.removed and not service.pid:
                    self.selector.unregister(service.log.source)
                    service.log.close()
                    del self.services[service.name]
            due = min((service.advance(now) for service in self.services.values()), default=NEVER)
            if self.deadline < NEVER:
                due = min(due, self._advance_shutdown(now))
            due = min(due, self.slack.advance(now, self.metadata["unhurried"]))
            due = min(due, *(connection.advance(now) for connection in self.connections), NEVER)
            self.connections = [connection for connection in self.connections if connection.pid or not connection.closed]
        self.changed = True
        return due if due < NEVER else time.monotonic() + 3600

    def _catch_signals(self) -> None:
        source, sink = os.pipe()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
        for number in (*SHUTDOWN_SIGNALS, signal.SIGCHLD):
            signal.signal(number, lambda _number, _frame: None)
        self.selector.register(source, selectors.EVENT_READ, lambda: self._signalled(os.read(source, 4096)))
        if os.getpid() == 1 and self.metadata["hostname"]:
            try:
                socket.sethostname(self.metadata["hostname"])
            except OSError as error:
                self.note(f"the hostname stays: {error.strerror}")
        elif os.getpid() != 1:
            import ctypes

            pr_set_child_subreaper = 36
            ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)

    def _signalled(self, numbers: bytes) -> None:
        if set(numbers) & set(SHUTDOWN_SIGNALS):
            self.begin_shutdown()
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            if ended := self.children.pop(pid, None):
                ended(code if code >= 0 else 128 - code)

    def _listen(self) -> None:
        path = self.metadata["control_socket"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        listener, mask = socket.socket(socket.AF_UNIX), os.umask(0o177)
        # Never there without its listener, nor open for others for a moment: made aside, then renamed over a stale one.
        listener.bind(f"{path}.{os.getpid()}")
        os.umask(mask)
        listener.listen(CONNECTION_LIMIT)
        listener.setblocking(False)
        os.replace(f"{path}.{os.getpid()}", path)
        self.selector.register(listener, selectors.EVENT_READ, lambda: self._accept(listener))

    def _accept(self, listener: socket.socket) -> None:
        peer, _ = listener.accept()
        if len(self.connections) < CONNECTION_LIMIT:
            self.connections.append(Connection(self, peer))
        else:
            peer.close()

    def _set_up(self) -> None:
        """Start the next setup command, or let the services begin."""
        self.changed, self.setup_done = True, not self.setup
        if self.setup_done:
            return
        step = self.setup.pop(0)
        stdin = os.memfd_create("input")
        os.write(stdin, step["input"].encode())
        os.lseek(stdin, 0, os.SEEK_SET)

        def ended(code: int) -> None:
            if code:
                self.setup_failures.append({"argv": step["argv"], "exit": code})
                self.note(f"setup: {' '.join(step['argv'])} ended with {code}, see setup.log")
            self._set_up()

        try:
            self.children[spawn(step["argv"], (stdin, self.setup_log.sink, self.setup_log.sink), env={})] = ended
        except OSError:
            ended(126)
        os.close(stdin)

    def may_start(self, service: Service) -> bool:
        others = service.spec["after"]
        return self.setup_done and all(os.path.exists(o) if o.startswith("/") else self.services[o].satisfied for o in others)

    def report(self) -> dict[str, Any]:
        setup = {"done": self.setup_done, "failures": self.setup_failures}
        services = {service.name: service.report() for service in self.services.values()}
        uptime, stopping = time.monotonic() - self.began, self.deadline < NEVER
        return {"ok": True, "name": self.metadata["name"], "uptime": uptime, "stopping": stopping, "setup": setup, "services": services}

    def reload(self) -> dict[str, list[str]]:
        fresh = read_metadata(self.path)
        specs = {spec["name"]: spec for spec in fresh["services"]}
        self.metadata = {**fresh, **{key: self.metadata[key] for key in ("control_socket", "log_directory", "log_limit")}}
        done: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
        for name, spec in specs.items():
            if name not in self.services:
                self.services[name] = Service(self, spec)
                done["added"].append(name)
            elif (service := self.services[name]).removed or service.spec != spec:
                service.wanted = spec["autostart"] if service.removed else service.wanted
                service.spec, service.removed = spec, False
                done["changed"].append(name)
                if service.wanted:
                    service.restart()
        for service in self.services.values():
            if service.name not in specs and not service.removed:
                service.removed = True
                service.stop()
                done["removed"].append(service.name)
        self.note(f"read the metadata again: {done}")
        return done

    def begin_shutdown(self) -> None:
        if self.deadline == NEVER:
            self.note("shutting down")
            self.deadline, self.changed = time.monotonic() + self.metadata["shutdown_timeout"], True
            for service in self.services.values():
                service.wanted = False
                if not service.pid:
                    service.stop()

    def _advance_shutdown(self, now: float) -> float:
        alive = [service for service in self.services.values() if service.pid]
        due = NEVER
        for service in alive:
            if now < self.deadline and any(service.name in other.spec["after"] for other in alive):
                continue
            if service.name in self.metadata["drain_before"] and service.state != "stopping":
                if self.drain is None:
                    until = min(now + self.metadata["drain_timeout"], self.deadline)
                    last, briefly = self.metadata["drain_last"], self.metadata["drain_briefly"]
                    self.drain = Sweep(self, until, spare=CONTAINER_KEEPERS, last=last, briefly=briefly)
                if not self.drain.over:
                    due = self.drain.advance(now)
                    continue
            service.stop(self.deadline)
        if not alive:
            self.rest = self.rest or Sweep(self, self.deadline, spare=())
            due = self.rest.advance(now)
            self.finished = self.rest.over
        return due


def main() -> None:
    try:
        supervisor = Supervisor(sys.argv[1])
    except (OSError, ValueError, IndexError) as unusable:
        sys.exit(f"supervisor: the metadata cannot be used: {unusable}")
    supervisor.run()


if __name__ == "__main__":
    main()
