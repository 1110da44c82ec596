"""A Python package index with files that are not what a lock file names, but are called the same."""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def tampered_index(directory: Path, lock: Path) -> Iterator[str]:
    """Gives the index' URL, with a user and the password `s3cret` in it."""
    for name, version in re.findall(r"^(\S+)==(\S+)", lock.read_text(), re.MULTILINE):
        module = name.replace("-", "_")
        wheel = directory / "simple" / name / f"{module}-{version}-py3-none-any.whl"
        wheel.parent.mkdir(parents=True)
        with zipfile.ZipFile(wheel, "w") as packed:
            about = f"{module}-{version}.dist-info"
            packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            packed.writestr(f"{module}.py", "print('owned')\n")
        wheel.with_name("index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(directory))) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://somebody:s3cret@127.0.0.1:{server.server_address[1]}/simple/"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
