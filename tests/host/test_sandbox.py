"""Programs of strangers: what they see and may do, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import eventually

from minikube.host import sandboxinit
from minikube.host.process import ProcessFailed
from minikube.host.sandbox import Sandbox, run_in_sandbox, sandbox

pytestmark = pytest.mark.build  # a program that needs nothing else comes out of the node image
ROOT = os.geteuid() == 0
KINDS = [True, False] if ROOT else [True]


@pytest.fixture(scope="module")
def program() -> Path:
    return Path(os.environ["MINIKUBE_TEST_NODE_IMAGE"], "usr/bin/busybox")


def output(box: Sandbox, program: Path, *arguments: str) -> str:
    process = box.start(program, arguments)
    while box.look_at(process).code is None:
        time.sleep(0.02)
    return box.look_at(process).said


def with_arguments(*words: str) -> Iterator[int]:
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if directory.joinpath("cmdline").read_bytes().split(b"\0")[1:-1] == [word.encode() for word in words]:
                yield int(directory.name)
        except OSError:
            continue


@pytest.mark.parametrize("users", KINDS, ids=["user namespace", "none"])
def test_a_program_has_no_rights_and_namespaces_of_its_own(program: Path, users: bool) -> None:
    with sandbox(seconds=60, user_namespace=users) as box:
        seconds = str(9000 + os.getpid() % 1000 + users)
        box.start(program, ["sleep", seconds])
        eventually(lambda: list(with_arguments("sleep", seconds)), seconds=10)
        (process,) = with_arguments("sleep", seconds)
        lines = (line.partition(":") for line in Path(f"/proc/{process}/status").read_text().splitlines())
        status = {name: value.split() for name, _, value in lines}
        assert {int(status[name][0], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
        assert status["NoNewPrivs"] == ["1"]
        if ROOT:
            assert min(map(int, status["Uid"])) > 0x7F000000
            assert min(map(int, status["Gid"])) > 0x7F000000
        shared = {
            kind
            for kind in ("user", "net", "mnt", "pid", "ipc", "uts")
            if Path(f"/proc/{process}/ns/{kind}").readlink() == Path(f"/proc/self/ns/{kind}").readlink()
        }
        assert shared == (set() if users else {"user"})


@pytest.mark.parametrize("users", KINDS, ids=["user namespace", "none"])
def test_a_program_finds_no_file_and_no_network_of_the_host(program: Path, users: bool, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server, sandbox(seconds=60, user_namespace=users) as box:
        port = server.getsockname()[1]
        files = f"ls -a /; cd /; ls {tmp_path}; echo x > {tmp_path}/written; echo x > here && ls here"
        said = output(box, program, "sh", "-c", files)
        assert "refused" in output(box, program, "wget", "-T", "2", f"http://127.0.0.1:{port}/")
        assert "secret" not in said
        assert "\nhere\n" in said
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert not (tmp_path / "written").exists()


def test_the_host_reaches_what_listens_in_there_and_others_do_not(program: Path) -> None:
    with sandbox(seconds=60) as box:
        box.write("page", "hello")
        box.start(program, ["httpd", "-f", "-p", "127.0.0.1:8642", "-h", "/"])

        def answer() -> bytes:
            try:
                with box.connect(8642) as stream:
                    stream.sendall(b"GET /page HTTP/1.0\r\n\r\n")
                    return b"".join(iter(lambda: stream.recv(1000), b""))
            except OSError:
                return b""

        eventually(lambda: answer().endswith(b"hello"), seconds=10)
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", 8642)) != 0


def test_what_a_program_says_is_bounded(program: Path) -> None:
    with sandbox(seconds=60) as box:
        process = box.start(program, ["sh", "-c", "yes | head -c 300000"])
        eventually(lambda: box.look_at(process).code == 0, seconds=30)
        assert len(box.look_at(process).said) <= 64 << 10


@pytest.mark.parametrize("character", ["\n", "\1", '"'])
def test_characters_that_take_more_room_in_an_answer_are_said_as_well(program: Path, character: str) -> None:
    script = 'said=$0; while [ ${#said} -lt 80000 ]; do said=$said$said; done; printf %s "$said"'
    said = run_in_sandbox(program, ["sh", "-c", script, character], seconds=30)
    assert set(said) == {character}
    assert len(said) > 8 << 10


@pytest.mark.parametrize("message", [b"{" + b" " * sandboxinit.MESSAGE + b"}", b"\xff", b'{"code": '])
def test_an_answer_that_cannot_be_read_is_an_oserror(message: bytes) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        theirs.send(message)
        with pytest.raises(OSError, match="the sandbox answers with"):
            Sandbox(ours).look_at(1)


def test_time_runs_out(program: Path) -> None:
    with pytest.raises(ProcessFailed, match="no answer after"):
        run_in_sandbox(program, ["sleep", "1000"], seconds=1)


def test_a_failed_program_is_told_with_its_words(program: Path) -> None:
    with pytest.raises(ProcessFailed, match="cannot do it") as caught:
        run_in_sandbox(program, ["sh", "-c", "echo cannot do it; exit 3"], seconds=30)
    assert caught.value.code == 3


def test_it_ends_with_its_maker_however_that_ends(program: Path) -> None:
    seconds = str(8000 + os.getpid() % 1000)
    script = f"""
import time
from pathlib import Path
from minikube.host.sandbox import sandbox
with sandbox(seconds=600) as box:
    box.start(Path({str(program)!r}), ["sleep", {seconds!r}])
    time.sleep(600)
"""
    maker = subprocess.Popen([sys.executable, "-c", script])
    try:
        eventually(lambda: list(with_arguments("sleep", seconds)), seconds=20)
    finally:
        maker.send_signal(signal.SIGKILL)
        maker.wait()
    eventually(lambda: not list(with_arguments("sleep", seconds)), seconds=10)
