"""The fault table of downloads: what servers and networks do, and what comes of it."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import fileserver
from support.authority import Authority
from support.fileserver import FileServer, file_server, password_proxy, status
from support.waiting import eventually

from minikube.artifacts import download
from minikube.artifacts.digests import Digest
from minikube.artifacts.download import Downloads, Wanted
from minikube.artifacts.web import Patience, Web
from minikube.output.progress import silent
from minikube.output.reason import Reason

CONTENT = random.Random(1).randbytes(600_000)
SHORT = Patience(connect=2, idle=1.0, attempts=3, pause=0.01, slowest=10_000)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FileServer]:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(CONTENT)
    with file_server(tmp_path / "www") as files:
        yield files


def web(**environment: str) -> Web:
    return Web(environment=environment, certificates=Path("/nonexistent"), patience=SHORT)


def wanted(url: str, *, algorithm: str = "sha256", size: int | None = None) -> Wanted:
    return Wanted((url,), Digest(f"{algorithm}:{hashlib.new(algorithm, CONTENT).hexdigest()}"), "file", size)


def fetch(tmp_path: Path, wish: Wanted, through: Web | None = None) -> Path:
    downloads = Downloads(tmp_path / "parts", through or web(), silent())
    target = tmp_path / "target"
    downloads.fetch(wish, target)
    downloads.forget()
    assert not list((tmp_path / "parts").iterdir())
    return target


def refused(tmp_path: Path, wish: Wanted, through: Web | None = None) -> Reason:
    downloads = Downloads(tmp_path / "parts", through or web(), silent())
    with pytest.raises(Reason) as caught:
        downloads.fetch(wish, tmp_path / "target")
    assert not (tmp_path / "target").exists()
    return caught.value


def arrives(*faults: str | int | fileserver.Fault) -> list[fileserver.Fault]:
    return [
        getattr(fileserver, fault) if isinstance(fault, str) else status(fault) if isinstance(fault, int) else fault for fault in faults
    ]


# What the server does to one request after the other; then it serves well.
MENDED = {
    "well": [],
    "cut": ["cut"],
    "cut again and again": ["cut", "cut", "cut"],
    "hangs up": ["refuse", "refuse"],
    "cut, then knows no ranges": ["cut", "without_ranges"],
    "cut, then sends another part": ["cut", "another_part"],
    "longer than it is": ["says_more"],
    "shorter than it is": ["says_less"],
    "no length": ["says_nothing"],
    "wrong bytes once": ["wrong_bytes"],
    "cut, then wrong bytes": ["cut", "wrong_bytes"],
    "silence in the middle": ["stall"],
    "too slow": ["trickle"],
    "unwell": [503, 500],
    "asks to wait": [status(429, Retry_After="0")],
    "leads elsewhere": [status(302, Location="/file")],
}


@pytest.mark.parametrize("faults", MENDED.values(), ids=MENDED)
@pytest.mark.parametrize("sized", [False, True], ids=["size unknown", "size known"])
def test_arrives_in_spite_of_it(tmp_path: Path, server: FileServer, faults: list[str | int | fileserver.Fault], sized: bool) -> None:
    sized = sized and not {"says_more", "says_less"} & set(map(str, faults))  # a length known to be wrong is refused: see below
    server.faults["/file"] = arrives(*faults)
    assert fetch(tmp_path, wanted(f"{server.url}/file", size=len(CONTENT) if sized else None)).read_bytes() == CONTENT


# What the server does every time.
FINAL = {
    "not there": (404, "INET_NOT_FOUND", 1),
    "forbidden": (403, "INET_NOT_ALLOWED", 1),
    "unwell": (503, "INET_DOWNLOAD_FAILED", 3),
    "too many requests": (429, "INET_RATE_LIMIT", 3),
    "hangs up": ("refuse", "INET_DOWNLOAD_FAILED", 3),
    "longer than it is": ("says_more", "INET_DOWNLOAD_FAILED", 3),
    "shorter than it is": ("says_less", "INET_BAD_CHECKSUM", 2),
    "wrong bytes": ("wrong_bytes", "INET_BAD_CHECKSUM", 2),
    "silence from the first byte": (lambda *_: __import__("time").sleep(2), "INET_DOWNLOAD_TIMEOUT", 3),
    "too slow": ("trickle", "INET_DOWNLOAD_TIMEOUT", 3),
    "leads round in circles": (status(302, Location="/file"), "INET_DOWNLOAD_FAILED", 10),
}


@pytest.mark.parametrize(("fault", "reason", "requests"), FINAL.values(), ids=FINAL)
def test_is_refused(tmp_path: Path, server: FileServer, fault: str | int | fileserver.Fault, reason: str, requests: int) -> None:
    server.faults["/file"] = arrives(*[fault] * 12)
    found = refused(tmp_path, wanted(f"{server.url}/file"))
    assert (found.id, len(server.requests)) == (reason, requests)
    assert found.advice or found.id == "INET_NOT_ALLOWED"


def test_a_size_other_than_known_is_refused_before_it_is_loaded(tmp_path: Path, server: FileServer) -> None:
    assert refused(tmp_path, wanted(f"{server.url}/file", size=len(CONTENT) + 1)).id == "INET_BAD_CHECKSUM"


def test_sha512(tmp_path: Path, server: FileServer) -> None:
    assert fetch(tmp_path, wanted(f"{server.url}/file", algorithm="sha512")).read_bytes() == CONTENT


def test_goes_on_where_an_earlier_process_stopped(tmp_path: Path, server: FileServer) -> None:
    server.faults["/file"] = arrives("cut", 404)
    refused(tmp_path, wanted(f"{server.url}/file"))
    sent = server.bytes_sent
    fetch(tmp_path, wanted(f"{server.url}/file"))
    assert server.requests[-1][1] == f"bytes={sent}-"
    assert server.bytes_sent == len(CONTENT)


SOURCE = str(Path(download.__file__).parents[2])
FETCH = """
import subprocess, sys
from pathlib import Path
from minikube.artifacts.digests import Digest
from minikube.artifacts.download import Downloads, Wanted
from minikube.artifacts.web import Web
from minikube.output.progress import silent
from minikube.output.reason import Reason

url, digest, place, *then = sys.argv[1:]
def fetch():
    Downloads(Path(place, "parts"), Web(environment={}), silent()).fetch(Wanted((url,), Digest(digest), "file"), Path(place, "target"))
try:
    fetch()
except Reason as reason:
    print(reason.id, Path(place, "target").exists(), reason.advice, flush=True)
    subprocess.run(then, check=True)
    fetch()
print("arrived", flush=True)
"""


def test_a_full_disk_is_said_and_what_has_arrived_is_not_lost(tmp_path: Path, server: FileServer) -> None:
    wish = wanted(f"{server.url}/file")
    more_room = ["mount", "-o", "remount,size=4m", str(tmp_path / "disk")]
    (tmp_path / "disk").mkdir()
    program = [sys.executable, "-c", FETCH, wish.urls[0], wish.digest, str(tmp_path / "disk"), *more_room]
    script = 'mount -t tmpfs -o size=300k none "$0" && exec "$@"'
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script, tmp_path / "disk", *program],
        env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    if "unshare:" in done.stderr:
        pytest.skip(f"a disk to fill cannot be had here: {done.stderr}")
    assert done.returncode == 0, done
    first, last = done.stdout.splitlines()
    assert first.startswith("RSRC_INSUFFICIENT_STORAGE False Free some space"), done
    assert last == "arrived"
    assert server.requests[-1][1].startswith("bytes=")


def test_ctrl_c_loses_nothing_that_has_arrived(tmp_path: Path, server: FileServer) -> None:
    server.faults["/file"] = arrives("stall", "well")
    wish = wanted(f"{server.url}/file")
    argv = [sys.executable, "-c", FETCH, wish.urls[0], wish.digest, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    with subprocess.Popen(
        argv, env=environment, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    ) as first:
        eventually(lambda: sum(path.stat().st_size for path in tmp_path.glob("parts/*")) >= len(CONTENT) // 4, seconds=20)
        first.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in first.communicate(timeout=20)[1]
    assert not (tmp_path / "target").exists()
    have = sum(path.stat().st_size for path in tmp_path.glob("parts/*.part"))
    assert fetch(tmp_path, wish).read_bytes() == CONTENT
    assert server.requests[-1][1] == f"bytes={have}-"


def test_a_part_of_something_else_does_no_harm(tmp_path: Path, server: FileServer) -> None:
    wish = wanted(f"{server.url}/file")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / f"{wish.digest.replace(':', '-')}.part").write_bytes(b"x" * 700_000)
    assert fetch(tmp_path, wish).read_bytes() == CONTENT


def test_the_next_place_is_asked_when_one_has_nothing(tmp_path: Path, server: FileServer) -> None:
    wish = wanted(f"{server.url}/file")._replace(urls=(f"{server.url}/elsewhere", f"{server.url}/file"))
    assert fetch(tmp_path, wish).read_bytes() == CONTENT


# What comes before and after bytes that come one by one.
DRIPPING = {
    "headers": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: ", b"\r\n\r\n{}"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n", b""),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;", b"\r\n{}\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize(("start", "end"), DRIPPING.values(), ids=DRIPPING)
def test_a_document_that_comes_byte_by_byte_is_left(server: FileServer, start: bytes, end: bytes) -> None:
    def drip(handler: fileserver.Handler, _content: bytes) -> None:
        handler.wfile.write(start)
        for _ in range(60):
            handler.wfile.write(b"x")
            time.sleep(0.05)
        handler.wfile.write(end)

    server.faults["/file"] = [drip]
    hasty = Web(environment={}, certificates=Path("/nonexistent"), patience=SHORT._replace(attempts=1, document=0.5))
    with pytest.raises(Reason) as caught:
        hasty.read(f"{server.url}/file")
    assert caught.value.id == "INET_DOWNLOAD_TIMEOUT"


def test_what_comes_with_a_redirect_is_not_read(server: FileServer) -> None:
    def redirect(handler: fileserver.Handler, _content: bytes) -> None:
        handler.begin(302, 64 << 20, {"Location": "/file"})
        for _ in range(64):
            handler.send(bytes(1 << 20))

    server.faults["/elsewhere"] = [redirect]
    assert web().read(f"{server.url}/elsewhere")[0] == CONTENT
    assert server.bytes_sent < 32 << 20


def test_nobody_there(tmp_path: Path) -> None:
    assert refused(tmp_path, wanted("http://127.0.0.1:9/file")).id == "INET_DOWNLOAD_FAILED"


def test_no_such_name(tmp_path: Path) -> None:
    assert refused(tmp_path, wanted("http://nowhere.invalid/file")).id == "INET_LOOKUP_HOST"


class TestCertificates:
    def test_authority_of_the_user(self, tmp_path: Path, server: FileServer) -> None:
        authority = Authority("somebody's own")
        (tmp_path / "server.pem").write_bytes(authority.issue("127.0.0.1"))
        (tmp_path / "certs").mkdir()
        (tmp_path / "certs" / "notes.crt").write_text("no certificate")
        with file_server(server.directory, certificate=tmp_path / "server.pem") as files:
            trusting = Web(environment={}, certificates=tmp_path / "certs", patience=SHORT)
            found = refused(tmp_path, wanted(f"{files.url}/file"), trusting)
            assert found.id == "INET_UNTRUSTED_CERT"
            assert str(tmp_path / "certs") in found.advice
            (tmp_path / "certs" / "ours.pem").write_bytes(authority.pem)
            assert fetch(
                tmp_path, wanted(f"{files.url}/file"), Web(environment={}, certificates=tmp_path / "certs", patience=SHORT)
            ).exists()

    def test_a_host_that_need_not_show_one(self, tmp_path: Path, server: FileServer) -> None:
        (tmp_path / "server.pem").write_bytes(Authority("unknown").issue("127.0.0.1"))
        with file_server(server.directory, certificate=tmp_path / "server.pem") as files:
            unchecked = Web(environment={}, patience=SHORT, unchecked=[files.url.removeprefix("https://")])
            assert fetch(tmp_path, wanted(f"{files.url}/file"), unchecked).exists()


class TestProxy:
    """The hosts exist for the proxy alone: whoever gets an answer has gone through it."""

    def test_http(self, tmp_path: Path, server: FileServer) -> None:
        where = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        with password_proxy("me", "p@ss:word", lambda _host: where) as proxy:
            through = web(HTTP_PROXY=f"http://me:p%40ss%3Aword@127.0.0.1:{proxy.port}")
            assert fetch(tmp_path, wanted("http://mirror.test/file"), through).read_bytes() == CONTENT
            assert proxy.asked == ["GET http://mirror.test/file"]

    def test_https(self, tmp_path: Path, server: FileServer) -> None:
        authority = Authority("somebody's own")
        (tmp_path / "server.pem").write_bytes(authority.issue("127.0.0.1", "mirror.test"))
        (tmp_path / "certs").mkdir()
        (tmp_path / "certs" / "ours.crt").write_bytes(authority.pem)
        with file_server(server.directory, certificate=tmp_path / "server.pem") as files:
            where = ("127.0.0.1", int(files.url.rpartition(":")[2]))
            with password_proxy("me", "secret", lambda _host: where) as proxy:
                environment = {"https_proxy": f"127.0.0.1:{proxy.port}"}
                found = refused(tmp_path, wanted("https://mirror.test/file"), Web(environment=environment, certificates=tmp_path / "certs"))
                assert found.id == "INET_PROXY_AUTH"
                environment = {"https_proxy": f"http://me:secret@127.0.0.1:{proxy.port}"}
                through = Web(environment=environment, certificates=tmp_path / "certs", patience=SHORT)
                assert fetch(tmp_path, wanted("https://mirror.test/file"), through).read_bytes() == CONTENT
                assert proxy.asked == ["CONNECT mirror.test:443"]

    def test_a_wrong_password_is_said_and_not_shown(self, tmp_path: Path) -> None:
        with password_proxy("me", "secret", lambda _host: ("127.0.0.1", 9)) as proxy:
            found = refused(tmp_path, wanted("http://mirror.test/file"), web(HTTP_PROXY=f"http://me:guess@127.0.0.1:{proxy.port}"))
        assert found.id == "INET_PROXY_AUTH"
        assert "guess" not in found.message + found.advice

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        found = refused(tmp_path, wanted("http://mirror.test/file"), web(HTTP_PROXY="http://me:hidden@127.0.0.1:9"))
        assert found.id == "INET_PROXY_UNREACHABLE"
        assert "hidden" not in found.message

    @pytest.mark.parametrize("exempt", ["127.0.0.1", "*", "127.0.0.0/8", ""])
    def test_this_machine_is_asked_directly(self, tmp_path: Path, server: FileServer, exempt: str) -> None:
        assert fetch(tmp_path, wanted(f"{server.url}/file"), web(HTTP_PROXY="http://127.0.0.1:9", NO_PROXY=exempt)).exists()
