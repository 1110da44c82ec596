"""HTTP(S) as this machine may speak it: through its proxies, trusting its own authorities and those in ~/.minikube/certs.

urllib3's exceptions end here: whatever goes wrong is a `Trouble`, which knows what to tell the user and whether to try again.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote, urljoin, urlsplit

import urllib3
from urllib3 import exceptions

from minikube import __version__
from minikube.artifacts import proxies
from minikube.artifacts.followed import raise_if_stopping
from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.profiles.paths import home

Answer = TypeVar("Answer")

_REDIRECTS = 10
_NOT_AUTHORITIES = ("cert.pem", "key.pem")  # docker-machine's own
_LONGEST_PAUSE = 30.0


class Patience(NamedTuple):
    """How long to put up with servers. Attempts are counted anew whenever a download has moved on."""

    connect: float = 10.0
    idle: float = 30.0
    """Seconds without a single byte."""
    attempts: int = 5
    pause: float = 0.5
    """Before the second attempt; doubled before each further one."""
    slowest: float = 1024.0
    """Bytes per second, over as long a time as `idle`: below that another connection may do better."""
    document: float = 60.0
    """Seconds for a small document, from the connection to its last byte."""


class Trouble(Exception):
    """One attempt failed. `passing`: another may not."""

    def __init__(
        self, reason: Reason, *, passing: bool, wait: float = 0.0, status: int = 0, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason.message)
        self.reason, self.passing, self.wait, self.status, self.headers = reason, passing, wait, status, headers or {}


class Web:
    """One door to HTTP(S) servers. `unchecked` names hosts (`host`, `host:port`) whose certificates are not looked at."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        certificates: Path | None = None,
        patience: Patience | None = None,
        unchecked: Sequence[str] = (),
    ) -> None:
        self.patience = patience or Patience()
        self._proxies = proxies.from_environment(environment)
        self._certificates = certificates or home() / "certs"
        self._unchecked = set(unchecked)
        self._managers: dict[tuple[str, bool], urllib3.PoolManager] = {}

    def leave_unchecked(self, host: str) -> None:
        """From now on, take whatever certificate this host shows."""
        self._unchecked.add(host)

    def open(self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> urllib3.BaseHTTPResponse:
        """One attempt, redirects followed; the body is still to be read. Statuses from 400 on are Trouble."""
        sent = {"User-Agent": f"minikube/{__version__}", "Accept-Encoding": "identity", **(headers or {})}
        for _ in range(_REDIRECTS):
            raise_if_stopping()
            response = self._ask(method, url, sent)
            target = response.get_redirect_location()
            if not target:
                if response.status >= 400:
                    raise self._refusal(url, response)
                return response
            response.close()  # its body may have no end
            onward = self._onward(url, target)
            if urlsplit(onward)[:2] != urlsplit(url)[:2]:
                sent.pop("Authorization", None)  # meant for the first host only
            url = onward
        raise Trouble(Reason("INET_DOWNLOAD_FAILED", f"{url}: it leads from one address to the next, without end"), passing=False)

    def _onward(self, url: str, target: str) -> str:
        """Where a server sends us: another web server, and from one whose certificate counts only to another such."""
        try:
            onward = urljoin(url, target)
            checked = urlsplit(url).scheme == "https" and self._checks(url)
            allowed = is_address(onward) and (urlsplit(onward).scheme == "https" or not checked)
        except ValueError:
            allowed = False
        if not allowed:
            raise Trouble(Reason("INET_DOWNLOAD_FAILED", f"{url} leads to {target[:200]!r}, where nothing is fetched from"), passing=False)
        return onward

    def _checks(self, url: str) -> bool:
        parts = urlsplit(url)
        return not self._unchecked & {parts.hostname, parts.netloc}

    def read(self, url: str, *, limit: int = 8 << 20, headers: Mapping[str, str] | None = None) -> tuple[bytes, Mapping[str, str]]:
        """A small document, whole, with its headers; tried again as often as patience allows."""

        def attempt() -> tuple[bytes, Mapping[str, str]]:
            response = self.open(url, headers=headers)
            try:
                body = self.chunk(response, url, limit + 1)
                while more := self.chunk(response, url, limit + 1 - len(body)):
                    body += more
            finally:
                response.close()
            if len(body) > limit:
                raise Trouble(Reason("INET_DOWNLOAD_FAILED", f"{url} is far larger than such a document can be"), passing=False)
            announced = announced_length(response.headers)
            if announced is not None and announced != len(body):
                raise cut_short(url, len(body), announced)
            return body, response.headers

        return self.patiently(lambda: self._in_time(attempt, url))

    def _in_time(self, attempt: Callable[[], Answer], url: str) -> Answer:
        """In a thread, which is left alone when it is late: a byte now and then keeps it waiting for the end of a header or chunk."""
        outcome: Future[Answer] = Future()

        def work() -> None:
            try:
                outcome.set_result(attempt())
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=work, name=f"reading {url}", daemon=True).start()
        try:
            return outcome.result(self.patience.document)
        except TimeoutError as error:
            raise self._failure(url, error) from error

    def chunk(self, response: urllib3.BaseHTTPResponse, url: str, most: int) -> bytes:
        """What has arrived, at most so much; nothing at the end."""
        try:
            return response.read1(most, decode_content=False) if most > 0 else b""
        except (exceptions.HTTPError, OSError) as error:
            raise self._failure(url, error) from error

    def patiently(self, attempt: Callable[[], Answer]) -> Answer:
        """Try until it works, or trying is of no use; pauses grow."""
        tried = 0
        while True:
            try:
                return attempt()
            except Trouble as trouble:
                tried += 1
                if not trouble.passing or tried >= self.patience.attempts:
                    raise trouble.reason from trouble
                self.pause(tried, trouble)

    def pause(self, tried: int, trouble: Trouble) -> None:
        seconds = min(max(self.patience.pause * 2 ** (tried - 1), trouble.wait), _LONGEST_PAUSE)
        debug(f"attempt {tried} failed, the next in {seconds:.1f} s: {trouble}")
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            raise_if_stopping()
            time.sleep(min(left, 0.2))

    def _ask(self, method: str, url: str, headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        try:
            return self._manager(url).urlopen(
                method,
                url,
                headers=dict(headers),
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
                timeout=urllib3.Timeout(connect=self.patience.connect, read=self.patience.idle),
            )
        except (exceptions.HTTPError, OSError, UnicodeError) as error:
            raise self._failure(url, error) from error

    def _manager(self, url: str) -> urllib3.PoolManager:
        if not is_address(url):
            raise Reason("MK_USAGE", f'"{url}" is not an address of a web server', advice="Give one that begins with https:// or http://.")
        proxy, checked = self._proxies.for_url(url), self._checks(url)
        if (proxy, checked) not in self._managers:
            self._managers[proxy, checked] = self._new_manager(proxy, checked=checked)
        return self._managers[proxy, checked]

    def _new_manager(self, proxy: str, *, checked: bool) -> urllib3.PoolManager:
        context = trusting(self._certificates)
        if not checked:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            urllib3.disable_warnings(exceptions.InsecureRequestWarning)  # the user named the host
        if not proxy:
            return urllib3.PoolManager(maxsize=8, ssl_context=context)
        parts = urlsplit(proxy)
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        return urllib3.ProxyManager(
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
            maxsize=8,
            ssl_context=context,
            proxy_ssl_context=trusting(self._certificates),
            proxy_headers=urllib3.make_headers(proxy_basic_auth=user),
        )

    def _refusal(self, url: str, response: urllib3.BaseHTTPResponse) -> Trouble:
        status, wait = response.status, response.headers.get("Retry-After", "")
        headers = dict(response.headers)
        response.close()
        trouble = _meaning_of_status(url, status, self._proxies.for_url(url))
        return Trouble(
            trouble,
            passing=status in (408, 425, 429) or status >= 500,
            wait=float(wait) if re.fullmatch("[0-9]{1,9}", wait) else 0.0,
            status=status,
            headers=headers,
        )

    def _failure(self, url: str, error: Exception) -> Trouble:
        """What an exception means for people."""
        host, words, proxy = urlsplit(url).hostname or "", str(error), self._proxies.for_url(url)
        if "407" in words and "roxy" in words:
            return Trouble(_meaning_of_status(url, 407, proxy), passing=False)
        if "certificate" in words.lower() and "verify failed" in words.lower():
            advice = f"Put the certificate of the authority that signed it into {self._certificates}, as a .pem or .crt file."
            return Trouble(
                Reason("INET_UNTRUSTED_CERT", f"{host} shows a certificate that nobody known here has signed", advice=advice), passing=False
            )
        if isinstance(error, exceptions.ProxyError) or (proxy and isinstance(error, exceptions.NewConnectionError)):
            shown = proxies.without_password(proxy)
            return Trouble(
                Reason("INET_PROXY_UNREACHABLE", f"the proxy {shown} does not let through to {host}: {_last(words)}"), passing=True
            )
        if isinstance(error, exceptions.NameResolutionError):
            return Trouble(Reason("INET_LOOKUP_HOST", f"there is no {host}, as far as the name servers of this machine know"), passing=True)
        late = isinstance(error, exceptions.TimeoutError | TimeoutError)
        if late and not isinstance(error, exceptions.NewConnectionError):
            return Trouble(Reason("INET_DOWNLOAD_TIMEOUT", f"{host} takes too long to answer ({url})"), passing=True)
        return Trouble(Reason("INET_DOWNLOAD_FAILED", f"{url} cannot be had: {_last(words)}"), passing=True)


def announced_length(headers: Mapping[str, str]) -> int | None:
    """How many bytes a server says there are; None if it does not say, or nonsense."""
    said = headers.get("Content-Length", "")
    return int(said) if re.fullmatch("[0-9]{1,15}", said) else None


def is_address(url: str) -> bool:
    """Whether this is the address of a web server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def cut_short(url: str, got: int, announced: int) -> Trouble:
    return Trouble(Reason("INET_DOWNLOAD_FAILED", f"{url} ended after {got} bytes instead of the {announced} it announced"), passing=True)


def trusting(certificates: Path) -> ssl.SSLContext:
    """The authorities of this machine and those of a directory; files there that are no certificates are not ours to judge."""
    context = ssl.create_default_context()
    for path in sorted((*certificates.glob("*.pem"), *certificates.glob("*.crt"))):
        if path.name not in _NOT_AUTHORITIES:
            try:
                context.load_verify_locations(path)
            except (ssl.SSLError, OSError) as error:
                debug(f"{path} is no certificate to trust: {error}")
    return context


def _meaning_of_status(url: str, status: int, proxy: str) -> Reason:
    if status == 407:
        shown = proxies.without_password(proxy)
        advice = "Put both into the address, as in HTTPS_PROXY=http://user:password@proxy.example:3128 (special characters as %40)."
        return Reason("INET_PROXY_AUTH", f"the proxy {shown} wants a user name and password, or others than it was given", advice=advice)
    if status in (404, 410):
        return Reason("INET_NOT_FOUND", f"there is no {url}", advice="Check the version; a mirror may not have it (yet).")
    if status in (401, 403):
        return Reason("INET_NOT_ALLOWED", f"{url} may not be had from here: the server answers {status}")
    if status == 429:
        return Reason(
            "INET_RATE_LIMIT", f"{urlsplit(url).hostname} has had too many requests from here", advice="Wait, then run the command again."
        )
    return Reason("INET_DOWNLOAD_FAILED", f"{url} cannot be had: the server answers {status}")


def _last(words: str) -> str:
    """The part of a chain of causes that says something."""
    return words.rpartition(": ")[2].strip("()'\" ") or words
